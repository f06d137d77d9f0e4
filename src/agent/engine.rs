//! The engine: takes operations in order, runs turns, and keeps listening while one runs. Nothing is shared but the
//! turn's control; the conversation belongs to whoever runs.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::control::{Events, Questions, TurnControl};
use super::core::Core;
use super::quick_ops::{EngineDeps, quick_op, tell_missing_layers};
use crate::agent::calls::policy_engine::PolicyEngine;
use crate::agent::session::conversation::Conversation;
use crate::agent::session::inspect;
use crate::agent::window::compactor::CompactionOutcome;
use crate::config::prompts;
use crate::config::settings::ContextSettings;
use crate::context::tokens::calibration::Calibration;
use crate::protocol::event::{Event, Level, SessionInfo};
use crate::protocol::op::Op;
use crate::session::list;

/// The engine of one front end.
pub struct Engine {
    pub core: Core,
    pub wiring: EngineDeps,
    pub events: Events,
    pub questions: Arc<Questions>,
    /// What a front end is told once the session is announced: the items of a resumed session, notices.
    pub backlog: Vec<Event>,
}

impl Engine {
    /// Runs until `Shutdown` or until the front end is gone.
    pub async fn run(mut self, mut ops: mpsc::UnboundedReceiver<Op>) {
        self.announce();
        for event in std::mem::take(&mut self.backlog) {
            let _ = self.events.send(event);
        }
        self.core.mind_truncation(&self.events);
        let events = self.events.clone();
        self.wiring.jobs.watch(Box::new(move |rows| {
            let _ = events.send(Event::Jobs(rows));
        }));
        let desk = &self.core.dispatcher.desk;
        tell_missing_layers(desk.permission(), desk, &self.events);
        let mut deferred: VecDeque<Op> = VecDeque::new();
        loop {
            let op = match deferred.pop_front() {
                Some(op) => op,
                None => match ops.recv().await {
                    Some(op) => op,
                    None => break,
                },
            };
            let text = match op {
                Op::Shutdown => break,
                Op::Submit { text } => text,
                Op::Init => {
                    self.core.dispatcher.desk.want_law(true);
                    prompts::INIT.trim().to_owned()
                }
                Op::Compact { focus } => {
                    if !self.compact(focus, &mut ops, &mut deferred).await {
                        break;
                    }
                    continue;
                }
                other => {
                    self.idle_op(other).await;
                    continue;
                }
            };
            let going_on = self.turn(text, &mut ops, &mut deferred).await;
            self.core.dispatcher.desk.want_law(false);
            if !going_on {
                break;
            }
        }
        self.wiring.jobs.stop_all().await;
    }

    /// Runs one turn while listening; `false` when the program is to end.
    async fn turn(
        &mut self,
        text: String,
        ops: &mut mpsc::UnboundedReceiver<Op>,
        deferred: &mut VecDeque<Op>,
    ) -> bool {
        let control = Arc::new(TurnControl::new(Arc::clone(&self.questions)));
        let desk = Arc::clone(&self.core.dispatcher.desk);
        let context = self.core.context.clone();
        let beside =
            RunningTurn { desk: &desk, wiring: &self.wiring, events: &self.events, context: &context };
        let going_on = {
            let turn = self.core.run_turn(text, &control, &self.events);
            listen(turn, ops, deferred, &control, beside).await
        };
        self.wiring.originals.follow(self.core.conversation.log_path());
        self.after(&control, deferred);
        going_on
    }

    /// What came too late for the work that has just ended is not lost: a message begins the next turn.
    fn after(&mut self, control: &TurnControl, deferred: &mut VecDeque<Op>) {
        deferred.extend(control.take_steering().into_iter().map(|text| Op::Submit { text }));
        if let Err(error) = self.core.take_edits(control, &self.events) {
            self.notice(Level::Error, error.to_string());
        }
    }

    async fn compact(
        &mut self,
        focus: Option<String>,
        ops: &mut mpsc::UnboundedReceiver<Op>,
        deferred: &mut VecDeque<Op>,
    ) -> bool {
        let control = Arc::new(TurnControl::new(Arc::clone(&self.questions)));
        let desk = Arc::clone(&self.core.dispatcher.desk);
        let context = self.core.context.clone();
        let beside =
            RunningTurn { desk: &desk, wiring: &self.wiring, events: &self.events, context: &context };
        let before = self.core.size();
        self.core.archivist.forgive();
        let (done, going_on) = {
            let (core, events) = (&mut self.core, &self.events);
            let work = async {
                let focus = Some(focus.unwrap_or_default());
                core.archive_rounds(&control, events, focus).await
            };
            let mut outcome = Ok(CompactionOutcome::Stopped);
            let work = async { outcome = work.await };
            let going_on = listen(work, ops, deferred, &control, beside).await;
            (outcome, going_on)
        };
        let now = self.core.size();
        let (level, text) = match done {
            Ok(CompactionOutcome::Done) => (
                Level::Info,
                format!(
                    "Compacted: about {} → {} tokens.",
                    crate::base::text::human_tokens(before),
                    crate::base::text::human_tokens(now)
                ),
            ),
            Ok(CompactionOutcome::Nothing) => {
                (Level::Info, "There is nothing to compact yet: the recent rounds always stay.".to_owned())
            }
            Ok(CompactionOutcome::Stopped) => (Level::Info, "Stopped; nothing was compacted.".to_owned()),
            Ok(CompactionOutcome::NotSmaller) => (
                Level::Info,
                "A summary would be no smaller than the rounds; nothing was changed.".to_owned(),
            ),
            Err(error) => (Level::Error, error.to_string()),
        };
        self.notice(level, text);
        self.core.last_estimate = self.core.build().ledger.total();
        self.send_window();
        self.after(&control, deferred);
        going_on
    }

    fn uncompact(&mut self) {
        let (level, text) = match self.core.unarchive() {
            Ok(Ok(size)) => (
                Level::Info,
                format!(
                    "The last archive is back: about {} tokens now.",
                    crate::base::text::human_tokens(size)
                ),
            ),
            Ok(Err(why)) => (Level::Warning, why),
            Err(error) => (Level::Error, error.to_string()),
        };
        self.notice(level, text);
        self.core.last_estimate = self.core.build().ledger.total();
        self.send_window();
    }

    async fn idle_op(&mut self, op: Op) {
        match op {
            Op::SetModel { model } => {
                if self.switch_model(&model).await {
                    // What was learned of one model's tokenizer says nothing of another's.
                    self.core.conversation.calibration = Calibration::default();
                    let provider = self.core.provider.name();
                    if let Err(error) = self.core.conversation.note_model(provider, &model) {
                        self.notice(Level::Error, error.to_string());
                    }
                    self.announce();
                }
            }
            Op::EditContext { edit, id } => match self.core.edit_context(edit, id, &self.events) {
                Ok(changed) => {
                    if changed {
                        self.core.last_estimate = self.core.build().ledger.total();
                        self.send_window();
                    }
                    self.send_ledger();
                }
                Err(error) => self.notice(Level::Error, error.to_string()),
            },
            Op::Clear => {
                self.open(Conversation::new(&self.wiring.project_state, &self.wiring.workspace)).await;
                self.announce();
            }
            Op::Resume { session } => match list::find(&self.wiring.project_state, &session) {
                Ok(path) => self.resume(&path).await,
                Err(message) => self.notice(Level::Error, format!("{message}.")),
            },
            Op::Uncompact => self.uncompact(),
            Op::AutoCompact { on } => {
                self.core.archivist.set_auto(on);
                let text = if on {
                    "Old rounds are summarized by themselves when the window gets full."
                } else {
                    "No summaries by themselves any more: when the window gets full, recorded facts take the place of \
                     old rounds. /compact makes a summary."
                };
                self.notice(Level::Info, text.to_owned());
            }
            Op::ShowContext => self.send_ledger(),
            Op::ListPoints => self.list_points(),
            Op::PreviewRewind { point } => self.preview_rewind(point).await,
            Op::Rewind { point, part, force } => self.rewind(point, part, force).await,
            Op::Submit { .. } | Op::Init | Op::Compact { .. } | Op::Shutdown | Op::Interrupt => {}
            quick => quick_op(quick, &self.core.dispatcher.desk, &self.wiring, &self.events),
        }
    }

    /// Continues another session.
    pub async fn resume(&mut self, path: &Path) {
        match Conversation::restore(&self.wiring.project_state, &self.wiring.workspace, path) {
            Ok(restored) => {
                self.open(restored.conversation).await;
                self.core.restore_working_state(restored.todos);
                self.go_on_with(restored.chosen_model).await;
                self.announce();
                let items =
                    self.core.conversation.history.entries().iter().map(|e| Arc::clone(&e.item)).collect();
                let _ = self.events.send(Event::History(items));
                for text in restored.notices {
                    self.notice(Level::Warning, text);
                }
                self.core.mind_truncation(&self.events);
            }
            Err(error) => self.notice(
                Level::Error,
                format!("{error}. Close the other one, or begin a new session with /clear."),
            ),
        }
    }

    async fn open(&mut self, conversation: Conversation) {
        self.core.forget_counts();
        self.core.conversation = conversation;
        let had_rules = self.core.conversation.prefix.parts().rules.is_some();
        self.core.law.continue_session(had_rules, &self.wiring.workspace);
        self.core.archivist = Default::default();
        self.core.last_estimate = self.core.build().ledger.total();
        let cx = &self.core.dispatcher.cx;
        cx.todos.set(Vec::new());
        cx.files.clear();
        cx.vault.clear();
        self.core.dispatcher.desk.forget_session();
        cx.shell.set_cwd(cx.root.to_path_buf());
        self.wiring.originals.follow(self.core.conversation.log_path());
        self.core.reminder = None;
        self.open_journal().await;
    }

    /// Tells the front end what is open.
    pub fn announce(&mut self) {
        let rules_file = self.core.law.exists();
        let info = SessionInfo {
            id: self.core.conversation.id.clone(),
            model: self.core.params.model.to_string(),
            provider: self.core.provider.name().to_owned(),
            permission: self.core.dispatcher.desk.permission(),
            workspace: self.wiring.workspace.to_string_lossy().into_owned(),
            turns: self.core.conversation.turns(),
            offer_init: self.wiring.interactive && !rules_file && self.core.dispatcher.desk.offers_init(),
        };
        let _ = self.events.send(Event::Session(info));
        self.send_window();
    }

    fn send_window(&self) {
        let window = self.core.conversation.window(self.core.last_estimate, self.core.context.window_tokens);
        let _ = self.events.send(Event::Window(window));
    }

    fn send_ledger(&mut self) {
        self.core.take_counts();
        let ledger = self.core.build().ledger;
        let _ = self.events.send(Event::Ledger(self.core.ledger_view(&ledger)));
    }

    /// Tells the user something.
    pub fn notice(&self, level: Level, text: String) {
        let _ = self.events.send(Event::Notice { level, text });
    }
}

/// What operations need that are done beside a running turn.
#[derive(Clone, Copy)]
struct RunningTurn<'a> {
    desk: &'a PolicyEngine,
    wiring: &'a EngineDeps,
    events: &'a Events,
    context: &'a ContextSettings,
}

/// Drives `work` while taking operations; `false` when the program is to end.
async fn listen(
    work: impl Future,
    ops: &mut mpsc::UnboundedReceiver<Op>,
    deferred: &mut VecDeque<Op>,
    control: &TurnControl,
    beside: RunningTurn<'_>,
) -> bool {
    tokio::pin!(work);
    let mut going_on = true;
    loop {
        let op = tokio::select! {
            biased;
            op = ops.recv(), if going_on => op,
            _ = &mut work => return going_on,
        };
        match op {
            None | Some(Op::Shutdown) => {
                control.cancel.cancel();
                going_on = false;
            }
            Some(Op::Submit { text }) => control.steer(text),
            Some(Op::Interrupt) => control.cancel.cancel(),
            Some(Op::Answer { id, answer }) => control.questions.answer(id, answer),
            Some(Op::EditContext { edit, id }) => control.edit(edit, id),
            Some(Op::ShowContext) => {
                inspect::ledger(
                    beside.wiring.originals.path(),
                    beside.context.clone(),
                    beside.events.clone(),
                );
            }
            Some(
                later @ (Op::Compact { .. }
                | Op::Uncompact
                | Op::AutoCompact { .. }
                | Op::SetModel { .. }
                | Op::Clear
                | Op::Resume { .. }
                | Op::ListPoints
                | Op::PreviewRewind { .. }
                | Op::Rewind { .. }
                | Op::Init),
            ) => {
                deferred.push_back(later);
            }
            Some(quick) => quick_op(quick, beside.desk, beside.wiring, beside.events),
        }
    }
}
