//! The task of one open session: runs prompts one at a time, forwards updates, and answers requests.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    AvailableCommandsUpdate, ClientCapabilities, ConfigOptionUpdate, CurrentModeUpdate, Error,
    PromptResponse, RequestId, SessionConfigOptionValue, SessionId, SessionInfoUpdate, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason,
    ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use futures_util::future::BoxFuture;
use futures_util::future::FutureExt as _;
use futures_util::stream::FuturesUnordered;
use futures_util::stream::StreamExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::options::{self, Options};
use super::questions;
use super::work::{self, Busy, EndsWith, Open, SessionCommand, Waiting};
use crate::acp::connection::Client;
use crate::acp::error;
use crate::acp::prompt::Input;
use crate::acp::source::Opened;
use crate::acp::updates::translate::{self, Translator};
use crate::exec::turn_answer::markdown;
use base::protocol::approval::{Answer, Question, QuestionId};
use base::protocol::event::{CommandRow, Event, Level, TurnEnd};
use base::protocol::op::{Control, Idle, Op, Quick, Work};
use base::text::one_line;

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
const TITLE_CHARS: usize = 100;

pub struct Session {
    pub id: SessionId,
    client: Client,
    capabilities: ClientCapabilities,
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    pub translator: Translator,
    pub options: Options,
    own_commands: Vec<CommandRow>,
    /// The first prompt becomes the title.
    untitled: bool,
    busy: Option<Busy>,
    waiting: VecDeque<Waiting>,
    open: HashMap<QuestionId, Open>,
    asked: FuturesUnordered<BoxFuture<'static, (QuestionId, Option<Answer>)>>,
    /// Notices to show with the next prompt, for clients that can't show them at any time.
    held: Vec<(Level, String)>,
}

impl Session {
    pub fn new(opened: Opened, client: Client, capabilities: ClientCapabilities) -> Self {
        let Opened { id, ops, events, folder } = opened;
        let translator = Translator::new(folder, capabilities.session.clone().unwrap_or_default());
        Self {
            id: SessionId::new(id),
            client,
            capabilities,
            ops,
            events,
            translator,
            options: Options::default(),
            own_commands: Vec::new(),
            untitled: false,
            busy: None,
            waiting: VecDeque::new(),
            open: HashMap::new(),
            asked: FuturesUnordered::new(),
            held: Vec::new(),
        }
    }

    /// Waits for the agent's opening events; with `replay`, shows the session's history.
    pub async fn begin(&mut self, replay: bool) -> Result<(), Error> {
        let gone = || error::failed("the agent stopped while opening the session");
        let mut replaying = false;
        loop {
            match self.events.recv().await.ok_or_else(gone)? {
                Event::Session(info) if !replaying => {
                    self.untitled = info.turns == 0;
                    self.options.set(&info);
                }
                // Commands are the last of the opening events.
                Event::Commands(rows) if !replaying => {
                    self.own_commands = rows.to_vec();
                    if !replay {
                        return Ok(());
                    }
                    replaying = true;
                    self.send(Quick::ShowTranscript { agent: None });
                }
                Event::Transcript { items, .. } if replaying => {
                    let updates = translate::stored(&items, &self.translator.root);
                    updates.into_iter().for_each(|update| self.update(update));
                    return Ok(());
                }
                Event::Notice { level: Level::Error, text } if replaying => return Err(error::failed(text)),
                Event::Notice { level, text } => self.held.push((level, text)),
                event if replaying => self.event(event),
                _ => {}
            }
        }
    }

    pub async fn run(mut self, mut commands: UnboundedReceiver<SessionCommand>) {
        let commands_update = AvailableCommandsUpdate::new(work::available(&self.own_commands));
        self.update(SessionUpdate::AvailableCommandsUpdate(commands_update));
        self.send(Quick::ListModels);
        if self.translator.shows_notices() {
            self.tell_held();
        }
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.event(event),
                    None => break self.give_up(),
                },
                command = commands.recv() => match command {
                    None => break self.close().await,
                    Some(command) => self.command(command),
                },
                Some((id, answer)) = self.asked.next(), if !self.asked.is_empty() => self.answered(id, answer),
            }
        }
    }

    async fn close(mut self) {
        self.cancel();
        self.send(Control::Shutdown);
        let last = async {
            while let Some(event) = self.events.recv().await {
                self.event(event);
            }
        };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, last).await;
        self.give_up();
    }

    fn give_up(&mut self) {
        let ended = || error::failed("the agent stopped; load the session to continue");
        match self.busy.take() {
            Some(Busy::Prompt { id, cancelled: true, .. }) => self.stopped(&id, StopReason::Cancelled),
            Some(Busy::Prompt { id, .. } | Busy::Model { id }) => {
                self.client.refuse(&id, ended());
            }
            None => {}
        }
        for Waiting::Prompt { id, .. } | Waiting::Model { id, .. } in std::mem::take(&mut self.waiting) {
            self.client.refuse(&id, ended());
        }
    }

    fn send(&self, op: impl Into<Op>) {
        // If this fails the agent is gone, and the event queue ends too.
        let _ = self.ops.send(op.into());
    }

    fn update(&self, update: SessionUpdate) {
        self.client.update(&self.id, update);
    }

    fn call_is(&self, call: &ToolCallId, status: ToolCallStatus) {
        let fields = ToolCallUpdateFields::new().status(status);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.clone(), fields)));
    }

    fn stopped(&self, id: &RequestId, reason: StopReason) {
        self.client.answer(id, Ok(PromptResponse::new(reason)));
    }

    fn command(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Prompt { id, input } => self.wait(Waiting::Prompt { id, input }),
            SessionCommand::Cancel => self.cancel(),
            SessionCommand::CancelRequest(wanted) => {
                let waits =
                    |waiting: &Waiting| matches!(waiting, Waiting::Prompt { id, .. } if *id == wanted);
                if matches!(&self.busy, Some(Busy::Prompt { id, .. }) if *id == wanted) {
                    self.interrupt();
                } else if let Some(at) = self.waiting.iter().position(waits) {
                    self.waiting.remove(at);
                    self.stopped(&wanted, StopReason::Cancelled);
                }
            }
            SessionCommand::SetMode { id, request } => {
                let chosen = self.choose(&request.mode_id.0);
                self.client.answer(&id, chosen.map(|()| SetSessionModeResponse::new()));
            }
            SessionCommand::SetOption { id, request } => self.set_option(id, request),
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.next();
    }

    fn next(&mut self) {
        while self.busy.is_none()
            && let Some(waiting) = self.waiting.pop_front()
        {
            match waiting {
                Waiting::Prompt { id, input } => self.prompt(id, input),
                Waiting::Model { id, model } if model == self.options.model => self.answer_options(&id),
                Waiting::Model { id, model } => {
                    self.busy = Some(Busy::Model { id });
                    self.send(Idle::SetModel { model });
                }
            }
        }
    }

    fn prompt(&mut self, id: RequestId, input: Input) {
        self.tell_held();
        let Input { text, attachments } = input;
        if std::mem::take(&mut self.untitled) {
            let title = SessionInfoUpdate::new().title(one_line(&text, TITLE_CHARS));
            self.update(SessionUpdate::SessionInfoUpdate(title));
        }
        let command = work::parse(&text).filter(|_| attachments.is_empty());
        let (op, ends) = command.unwrap_or((Op::Work(Work::Prompt { text, attachments }), EndsWith::Turn));
        self.busy = Some(Busy::Prompt { id, ends, cancelled: false, turns: 0, stop: None });
        self.send(op);
    }

    fn cancel(&mut self) {
        let is_prompt = |waiting: &Waiting| matches!(waiting, Waiting::Prompt { .. });
        let prompts: VecDeque<_>;
        (prompts, self.waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_prompt);
        for Waiting::Prompt { id, .. } | Waiting::Model { id, .. } in prompts {
            self.stopped(&id, StopReason::Cancelled);
        }
        self.interrupt();
    }

    fn interrupt(&mut self) {
        let Some(Busy::Prompt { cancelled, ends, .. }) = &mut self.busy else { return };
        *cancelled = true;
        if ends.is_quick() {
            return self.finish(Ok(StopReason::Cancelled));
        }
        self.send(Control::Interrupt);
    }

    fn choose(&mut self, way: &str) -> Result<(), Error> {
        let named = options::named(way);
        let way = named.ok_or_else(|| error::invalid_params(format!("unknown mode '{way}'")))?;
        let mut ops = Vec::new();
        self.change_options(|options| ops = options.choose(way));
        ops.into_iter().for_each(|op| self.send(op));
        Ok(())
    }

    fn set_option(&mut self, id: RequestId, request: SetSessionConfigOptionRequest) {
        let SessionConfigOptionValue::ValueId { value } = request.value else {
            let error = error::invalid_params(format!("{} takes one of its values", request.config_id));
            return self.client.refuse(&id, error);
        };
        match &*request.config_id.0 {
            options::MODE => match self.choose(&value.0) {
                Ok(()) => self.answer_options(&id),
                Err(error) => self.client.refuse(&id, error),
            },
            // Waits for the running turn, which keeps its model.
            options::MODEL => self.wait(Waiting::Model { id, model: value.0.to_string() }),
            other => {
                let error = error::invalid_params(format!("unknown option '{other}'"));
                self.client.refuse(&id, error);
            }
        }
    }

    fn answer_options(&self, id: &RequestId) {
        self.client.answer(id, Ok(SetSessionConfigOptionResponse::new(self.options.list())));
    }

    fn change_options(&mut self, change: impl FnOnce(&mut Options)) {
        let before = self.options.clone();
        change(&mut self.options);
        if self.options == before {
            return;
        }
        if self.options.way() != before.way() {
            self.update(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(self.options.way())));
        }
        self.update(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(self.options.list())));
    }

    fn event(&mut self, event: Event) {
        for update in self.translator.updates(&event) {
            self.update(update);
        }
        match event {
            Event::Session(info) => {
                self.change_options(|options| options.set(&info));
                if let Some(Busy::Model { id }) = self.busy.take_if(|busy| matches!(busy, Busy::Model { .. }))
                {
                    self.answer_options(&id);
                    self.next();
                }
            }
            Event::Permission(level) => self.change_options(|options| options.level = Some(level)),
            Event::Mode(mode) => self.change_options(|options| options.mode = mode),
            Event::Models(rows) => self.change_options(|options| options.models = rows),
            Event::Ask { id, question } => self.ask(id, question),
            Event::AskClosed { id } => self.closed(id),
            Event::TurnStarted { text } => {
                if let Some(Busy::Prompt { turns, ends: EndsWith::Turn, .. }) = &mut self.busy {
                    *turns += 1;
                    // An accepted plan runs in a turn of its own.
                    if *turns > 1 {
                        let update = self.translator.user(&text);
                        self.update(update);
                    }
                }
            }
            Event::TurnEnded(end) => self.turn_ended(&end),
            Event::Notice { level, text } => self.notice(level, text),
            Event::Window(_) => self.end_if(EndsWith::Compaction, None),
            answer @ (Event::Status(_) | Event::Cost(_) | Event::Ledger(_)) => {
                self.end_if(EndsWith::Answer, markdown(&answer));
            }
            Event::Changes(changes) => self.end_if(EndsWith::Answer, Some(work::changes(&changes))),
            _ => {}
        }
    }

    fn end_if(&mut self, wanted: EndsWith, answer: Option<String>) {
        // A window update also arrives before the compaction; wait until its outcome was reported.
        let is_due = |turns: usize| wanted != EndsWith::Compaction || turns > 0;
        let is_wanted = |busy: &mut Busy| matches!(busy, Busy::Prompt { ends, turns, .. } if *ends == wanted && is_due(*turns));
        let Some(Busy::Prompt { id, cancelled, .. }) = self.busy.take_if(is_wanted) else { return };
        if let Some(answer) = answer {
            let update = self.translator.message(answer);
            self.update(update);
        }
        self.stopped(&id, if cancelled { StopReason::Cancelled } else { StopReason::EndTurn });
        self.next();
    }

    fn notice(&mut self, level: Level, text: String) {
        match &mut self.busy {
            Some(Busy::Model { .. }) if level != Level::Info => {
                if let Some(Busy::Model { id }) = self.busy.take() {
                    self.client.refuse(&id, error::invalid_params(text));
                    self.next();
                }
            }
            Some(Busy::Prompt { ends: EndsWith::Notice, .. }) => self.end_if(EndsWith::Notice, Some(text)),
            // A warning or error in place of the expected answer.
            Some(Busy::Prompt { ends, .. }) if ends.is_quick() && level != Level::Info => {
                let ends = *ends;
                self.end_if(ends, Some(text));
            }
            Some(Busy::Prompt { ends: EndsWith::Compaction, turns, .. }) => {
                *turns = 1;
                let update = self.translator.message(text);
                self.update(update);
            }
            None if !self.translator.shows_notices() => self.held.push((level, text)),
            _ => self.tell(level, &text),
        }
    }

    fn tell(&mut self, level: Level, text: &str) {
        if let Some(update) = self.translator.notice(level, text) {
            self.update(update);
        }
    }

    fn tell_held(&mut self) {
        for (level, text) in std::mem::take(&mut self.held) {
            self.tell(level, &text);
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd) {
        let now = jiff::Timestamp::now().to_string();
        self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().updated_at(now)));
        let Some(Busy::Prompt { ends: EndsWith::Turn, cancelled, stop, .. }) = &mut self.busy else { return };
        let (reason, why) = work::stop(&end.reason);
        let reason = if *cancelled { Ok(StopReason::Cancelled) } else { reason };
        if let Ok(reason) = reason
            && end.plan.is_some()
            && reason == StopReason::EndTurn
        {
            // The user's decision about the plan still belongs to this prompt.
            *stop = Some(reason);
            return;
        }
        if let Some(why) = why.filter(|_| reason.is_ok()) {
            self.tell(Level::Warning, &why);
        }
        self.finish(reason);
    }

    fn finish(&mut self, reason: Result<StopReason, Error>) {
        if let Some(Busy::Prompt { id, .. }) = self.busy.take() {
            let usage = self.translator.total();
            self.client.answer(&id, reason.map(|reason| PromptResponse::new(reason).usage(usage)));
        }
        self.next();
    }

    fn ask(&mut self, id: QuestionId, question: Question) {
        let name = format!("question-{id}");
        let call = questions::call(&question, &name, &self.translator.root);
        // Questions without a visible call (from a sub-agent, or not about a call) get one to be shown with.
        let ours = !self.translator.knows(&call.tool_call_id.0);
        if ours && let Ok(shown) = ToolCall::try_from(call.clone()) {
            self.update(SessionUpdate::ToolCall(shown));
        }
        let plan = matches!(question, Question::Plan(_));
        self.open.insert(id, Open { call: call.clone(), ours, plan });
        let answer = questions::ask(question, call, &self.id, &self.client, &self.capabilities);
        self.asked.push(answer.map(move |answer| (id, answer)).boxed());
    }

    fn answered(&mut self, id: QuestionId, answer: Option<Answer>) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let Some(answer) = answer else { return self.interrupt() };
        let allowed = !matches!(answer, Answer::No { .. });
        let status = match (open.ours, allowed) {
            (false, true) => Some(ToolCallStatus::InProgress),
            // The call reports its own end.
            (false, false) => None,
            (true, true) => Some(ToolCallStatus::Completed),
            (true, false) => Some(ToolCallStatus::Failed),
        };
        let went_on = open.plan && matches!(answer, Answer::Accept { .. });
        open.ours = false;
        let call = open.call.tool_call_id.clone();
        status.into_iter().for_each(|status| self.call_is(&call, status));
        if let Some(Busy::Prompt { stop, .. }) = self.busy.as_mut().filter(|_| went_on) {
            *stop = None;
        }
        self.send(Control::Answer { id, answer });
    }

    fn closed(&mut self, id: QuestionId) {
        let Some(open) = self.open.remove(&id) else { return };
        if open.ours {
            self.call_is(&open.call.tool_call_id, ToolCallStatus::Failed);
        }
        let Some(Busy::Prompt { cancelled, stop, .. }) = &mut self.busy else { return };
        if let Some(reason) = stop.take().filter(|_| open.plan) {
            let reason = if *cancelled { StopReason::Cancelled } else { reason };
            self.finish(Ok(reason));
        }
    }
}
