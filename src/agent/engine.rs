//! The engine: takes operations in order, runs turns, and keeps listening during them. A running turn owns the
//! agent; the two share only the turn's control.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::control::{Events, TurnControl, notice};
use super::deps::EngineDeps;
use super::listener::{Listener, Ops};
use super::lists::sessions;
use super::maintainer::Maintainer;
use super::parts::Agent;
use super::quick_ops::{quick_op, report_missing_layers};
use super::session::conversation::Conversation;
use super::session::reopen;
use super::turn::goal::{self, TurnOpening};
use super::turn::run::Turn;
use super::undo_ops;
use base::process::task;
use base::protocol::event::{EndReason, Event, Level, SessionInfo, TurnEnd};
use base::protocol::notice as texts;
use base::protocol::op::{Control, Idle, Op, Work};

pub struct Engine {
    pub agent: Agent,
    pub deps: EngineDeps,
    pub events: Events,
    /// Events sent once the session is announced: a resumed session's items, notices.
    pub backlog: Vec<Event>,
    pub deferred: VecDeque<Op>,
    pub maintainer: Maintainer,
    pub turn_ended: bool,
}

/// Claude Code's short model names; no server accepts them.
const NO_MODELS: [&str; 4] = ["default", "sonnet", "opus", "haiku"];

/// After this long without an operation, hooks are told that mycode waits for the user.
const IDLE: Duration = Duration::from_secs(60);

impl Engine {
    /// Runs until `Shutdown` or until the front end is gone; `source` says how the session started.
    pub async fn run(mut self, mut ops: Ops, source: &'static str) {
        self.announce();
        self.start_hooks(source);
        for event in std::mem::take(&mut self.backlog) {
            let _ = self.events.send(event);
        }
        if self.deps.interactive {
            self.deps.prompts.restore_draft(&self.events);
        }
        self.agent.window.mind_truncation(&mut self.agent.conversation, &self.events);
        let events = self.events.clone();
        self.deps.cx.shell.jobs.watch(Box::new(move |rows| {
            let _ = events.send(Event::Jobs(rows));
        }));
        let policy = &self.agent.dispatcher.policy;
        report_missing_layers(policy.permission(), policy, &self.events);
        loop {
            let op = match self.deferred.pop_front() {
                Some(op) => op,
                None => match self.next_op(&mut ops).await {
                    Some(op) => op,
                    None => break,
                },
            };
            let running = match op {
                Op::Work(work) => self.work(work, &mut ops).await,
                Op::Control(Control::Shutdown) => false,
                Op::Control(control) => {
                    self.idle_control(control);
                    true
                }
                Op::Idle(op) => {
                    self.idle_op(op).await;
                    true
                }
                Op::Undo(op) => {
                    if undo_ops::undo_op(op, &mut self.agent, &self.deps, &self.events).await {
                        self.announce();
                    }
                    true
                }
                Op::Quick(op) => {
                    quick_op(op, &self.agent.dispatcher.policy, &self.deps, &self.events);
                    true
                }
            };
            if !running {
                break;
            }
        }
        self.deps.cx.shell.jobs.stop_all().await;
        self.agent.dispatcher.cx.language_servers.stop().await;
        self.deps.prompts.settle().await;
        self.end_hooks(if self.deps.interactive { "prompt_input_exit" } else { "other" }).await;
    }

    /// Returns `false` on shutdown.
    async fn work(&mut self, work: Work, ops: &mut Ops) -> bool {
        match work {
            Work::Submit { text } => self.asked(text, ops).await,
            Work::Prompt { text, attachments } => {
                self.agent.input.attachments = attachments;
                self.asked(text, ops).await
            }
            Work::RunCommand { command } => self.beside(Some(command), ops).await,
            Work::Review => self.beside(None, ops).await,
            // Runs one phase; whatever the user decided or typed meanwhile comes before the next one.
            Work::Maintain(phases) => {
                let Some(text) = self.maintainer.begin(&phases, &mut self.agent, &self.events).await else {
                    return true;
                };
                let Some(end) = self.turn(text, ops).await else { return false };
                if end.reason == EndReason::Done
                    && let Some(left) = self.maintainer.phase_done(phases, &self.agent, &self.events).await
                {
                    let is_typed = |op: &&Op| matches!(op, Op::Work(Work::Submit { .. }));
                    let typed = self.deferred.iter().take_while(is_typed).count();
                    self.deferred.insert(typed, Work::Maintain(left).into());
                }
                true
            }
            Work::Init => {
                let policy = Arc::clone(&self.agent.dispatcher.policy);
                let prompt = policy.begin_init();
                let running = self.turn(prompt, ops).await.is_some();
                policy.end_init();
                running
            }
            Work::Compact { focus } => self.compact(focus, ops).await,
            Work::Reports => {
                let tells = self.deps.cx.shell.jobs.has_report(false).await;
                !tells || self.turn(TurnOpening::Reports, ops).await.is_some()
            }
            Work::Goal(_) | Work::NextRound => {
                let opening = match work {
                    Work::Goal(goal) => goal::begin(goal, &mut self.agent, &self.events),
                    _ => goal::next(&mut self.agent, &self.events),
                };
                match opening {
                    Some(opening) => self.turn(opening, ops).await.is_some(),
                    None => true,
                }
            }
        }
    }

    /// The next operation. Runs hooks if none comes for a while after a turn.
    async fn next_op(&mut self, ops: &mut Ops) -> Option<Op> {
        let idle = std::mem::take(&mut self.turn_ended) && self.deps.interactive;
        let hooks = self.agent.dispatcher.hooks.as_ref();
        let Some(hooks) = hooks.filter(|hooks| idle && hooks.notifies()) else { return ops.recv().await };
        match tokio::time::timeout(IDLE, ops.recv()).await {
            Ok(op) => op,
            Err(_) => {
                let hooks = Arc::clone(hooks);
                task::spawn(async move { hooks.waits_for_user(None).await });
                ops.recv().await
            }
        }
    }

    pub fn start_hooks(&self, source: &'static str) {
        let Agent { conversation, dispatcher, sampler, .. } = &self.agent;
        if let Some(hooks) = &dispatcher.hooks {
            hooks.start(&conversation.id, conversation.log_path(), source, &sampler.params.model);
        }
    }

    async fn end_hooks(&self, reason: &str) {
        if let Some(hooks) = &self.agent.dispatcher.hooks {
            hooks.end(reason).await;
        }
    }

    fn control(&self) -> Arc<TurnControl> {
        Arc::new(TurnControl::new(&self.deps.questions, &self.events))
    }

    async fn turn(&mut self, opening: impl Into<TurnOpening>, ops: &mut Ops) -> Option<TurnEnd> {
        let (control, mut end) = (self.control(), None);
        let listener = Listener::new(&self.agent, &self.deps, &self.events);
        let turn = Turn::new(&mut self.agent, &control);
        let work = async { end = Some(turn.run(opening).await) };
        let running = listener.drive(work, ops, &mut self.deferred, &control).await;
        self.turn_ended = true;
        self.deps.tools.originals.follow(self.agent.conversation.log_path());
        self.after(&control);
        let end = end.filter(|_| running)?;
        if end.goal.as_ref().is_some_and(|round| round.goes_on()) {
            self.deferred.retain(|op| !matches!(op, Op::Work(Work::NextRound)));
            self.deferred.push_back(Work::NextRound.into());
        }
        if end.reason != EndReason::Done {
            self.deferred.retain(|op| !matches!(op, Op::Work(Work::Maintain(_))));
            self.maintainer.end(&self.agent, &self.events).await;
        }
        Some(end)
    }

    /// Runs the user's own command, or a review if there is none, while listening; `false` on shutdown.
    async fn beside(&mut self, command: Option<String>, ops: &mut Ops) -> bool {
        let control = self.control();
        let listener = Listener::new(&self.agent, &self.deps, &self.events);
        let _ = self.events.send(Event::CommandStarted);
        let reviews = command.is_none();
        command.into_iter().for_each(|command| control.command(command));
        let mut outcome = Ok(());
        let turn = Turn::new(&mut self.agent, &control);
        let work = async { outcome = turn.beside(reviews).await };
        let running = listener.drive(work, ops, &mut self.deferred, &control).await;
        if let Err(message) = outcome {
            self.notice(Level::Error, message);
        }
        self.deps.tools.originals.follow(self.agent.conversation.log_path());
        self.send_window();
        let _ = self.events.send(Event::CommandEnded);
        self.after(&control);
        running
    }

    /// Input that came too late runs next, before later operations; after an interrupt it returns to the composer.
    fn after(&mut self, control: &TurnControl) {
        if control.cancel.is_cancelled() {
            let late = control.take_typed();
            if !late.is_empty() {
                let _ = self.events.send(Event::TakenBack { texts: late });
            }
        } else {
            for text in control.take_steering().into_iter().rev() {
                self.deferred.push_front(Work::Submit { text }.into());
            }
            for command in control.take_commands().into_iter().rev() {
                self.deferred.push_front(Work::RunCommand { command }.into());
            }
        }
        self.apply_edits(control);
    }

    fn apply_edits(&mut self, control: &TurnControl) {
        let Agent { conversation, window, sampler, .. } = &mut self.agent;
        match window.apply_queued_edits(conversation, &sampler.params, control) {
            Ok(true) => self.send_window(),
            Ok(false) => {}
            Err(error) => self.notice(Level::Error, error.to_string()),
        }
    }

    async fn compact(&mut self, focus: Option<String>, ops: &mut Ops) -> bool {
        let (control, mut told) = (self.control(), None);
        let listener = Listener::new(&self.agent, &self.deps, &self.events);
        let Agent { conversation, window, sampler, .. } = &mut self.agent;
        window.compactor.reset_failures();
        let focus = focus.unwrap_or_default();
        let work = async { told = Some(window.compact(conversation, sampler, &control, focus).await) };
        let running = listener.drive(work, ops, &mut self.deferred, &control).await;
        let (level, text) = told.unwrap_or((Level::Info, texts::COMPACTION_STOPPED.to_owned()));
        self.notice(level, text);
        self.send_window();
        self.after(&control);
        running
    }

    fn uncompact(&mut self) {
        let Agent { conversation, window, .. } = &mut self.agent;
        let (level, text) = match window.uncompact(conversation) {
            Ok(Ok(size)) => (Level::Info, texts::uncompacted(size)),
            Ok(Err(why)) => (Level::Warning, why),
            Err(error) => (Level::Error, error.to_string()),
        };
        self.notice(level, text);
        self.send_window();
    }

    fn idle_control(&mut self, control: Control) {
        match control {
            Control::EditContext { edit, id } => {
                let control = self.control();
                control.edit(edit, id);
                self.apply_edits(&control);
            }
            Control::ShowContext => drop(self.events.send(Event::Ledger(self.agent.ledger()))),
            // The question didn't come from a turn.
            Control::Answer { id, answer } => self.deps.questions.answer(id, answer),
            Control::TakeBack | Control::Interrupt | Control::Shutdown => {}
        }
    }

    async fn idle_op(&mut self, op: Idle) {
        match op {
            Idle::SetModel { model } => {
                let now = self.agent.sampler.params.model.to_string();
                if let Err(why) = self.deps.check_model(&model, &now).await {
                    self.notice(Level::Warning, why);
                } else if self.switch_model(&model).await {
                    let Agent { conversation, window, sampler, .. } = &mut self.agent;
                    // Calibration is specific to a model's tokenizer.
                    conversation.state.calibration = Default::default();
                    conversation.state.calibration.presume(window.settings().token_ratio);
                    if let Err(error) = conversation.choose_model(sampler.provider.name(), &model) {
                        self.notice(Level::Error, error.to_string());
                    }
                    self.announce();
                    let unlisted = self.deps.unlisted(&model).await;
                    unlisted.into_iter().for_each(|why| self.notice(Level::Warning, why));
                }
            }
            Idle::SetEffort { level } => {
                self.agent.sampler.params.reasoning_effort = Some(level.into());
                self.announce();
            }
            Idle::ReadKeys => self.read_keys().await,
            Idle::Clear => {
                let mut new = Conversation::new(&self.deps.project_state, &self.deps.cx.root);
                new.begun.clone_from(&self.agent.conversation.begun);
                new.begun.read_only = false;
                if let Some((provider, model)) = &self.agent.conversation.chosen_model
                    && let Err(error) = new.choose_model(provider, model)
                {
                    self.notice(Level::Error, error.to_string());
                }
                self.end_hooks("clear").await;
                self.open(new).await;
                self.start_hooks("clear");
                self.announce();
            }
            Idle::Resume { session } => match sessions::find(&self.deps.project_state, &session) {
                Ok(path) => self.resume(&path).await,
                Err(message) => self.notice(Level::Error, message),
            },
            Idle::ForkSession { session } => self.fork(&session).await,
            Idle::Uncompact => self.uncompact(),
            Idle::StopGoal => {
                self.deferred.retain(|op| !matches!(op, Op::Work(Work::NextRound)));
                goal::stop(&mut self.agent, &self.events);
            }
            Idle::AutoCompact { on } => {
                self.agent.window.compactor.set_auto(on);
                self.notice(Level::Info, texts::auto_compact(on));
            }
        }
    }

    async fn resume(&mut self, path: &Path) {
        let (state, workspace) = (self.deps.project_state.clone(), Arc::clone(&self.deps.cx.root));
        let path = path.to_owned();
        let read = task::blocking(move || reopen::restore(&state, &workspace, &path)).await;
        let reopened = match read {
            Ok(Ok(reopened)) => reopened,
            Ok(Err(error)) => return self.notice(Level::Error, reopen::failure(&error)),
            Err(error) => return self.notice(Level::Error, texts::session_not_opened(error)),
        };
        let chosen = reopened.conversation.chosen_model.clone();
        self.end_hooks("resume").await;
        let known = std::mem::take(&mut self.agent.conversation.begun.deny);
        self.open(reopened.conversation).await;
        self.use_chosen_model(chosen).await;
        if self.agent.conversation.begun.read_only && self.agent.dispatcher.policy.become_read_only() {
            self.notice(Level::Info, texts::stays_read_only("/permission"));
        }
        let begun = self.agent.conversation.begun.deny.iter();
        let unknown: Vec<&str> = begun.filter(|rule| !known.contains(rule)).map(String::as_str).collect();
        if !unknown.is_empty() {
            let denied = unknown.join(", ");
            self.notice(Level::Warning, texts::not_denied_here(&denied, &self.agent.conversation.id));
        }
        self.start_hooks("resume");
        self.announce();
        let entries = self.agent.conversation.state.history.entries();
        let items = entries.iter().map(|entry| Arc::clone(&entry.item)).collect();
        let _ = self.events.send(Event::History(items));
        for text in reopened.notices {
            self.notice(Level::Warning, text);
        }
        self.agent.window.mind_truncation(&mut self.agent.conversation, &self.events);
    }

    /// Continues in a copy of a session, which may be open elsewhere.
    async fn fork(&mut self, session: &str) {
        let (own, log) = (&self.agent.conversation.id, self.agent.conversation.log_path());
        if own == session && !log.exists() {
            return self.notice(Level::Warning, texts::SESSION_EMPTY.to_owned());
        }
        match sessions::fork(&self.deps.project_state, &self.deps.cx.root, session).await {
            Ok(path) => {
                let original = session.to_owned();
                self.resume(&path).await;
                self.notice(Level::Info, texts::forked(&self.agent.conversation.id, &original));
            }
            Err(why) => self.notice(Level::Error, texts::session_not_opened(why)),
        }
    }

    async fn open(&mut self, conversation: Conversation) {
        self.agent.open(conversation).await;
        self.deps.tools.originals.follow(self.agent.conversation.log_path());
    }

    async fn read_keys(&mut self) {
        match self.deps.use_saved_keys().await {
            Err(why) => self.notice(Level::Error, why),
            Ok(model) => {
                if let Some(model) = model {
                    self.switch_model(&model).await;
                }
                self.announce();
            }
        }
    }

    async fn asked(&mut self, text: String, ops: &mut Ops) -> bool {
        let before = self.model_of_command(&text).await;
        let running = self.turn(text, ops).await.is_some();
        if let Some(model) = before {
            self.switch_model(&model).await;
            self.announce();
        }
        running
    }

    /// Switches to the model named in the user's own command for one turn; returns the previous one.
    async fn model_of_command(&mut self, text: &str) -> Option<String> {
        let (name, wanted) = self.agent.input.asked.wanted_model(text)?;
        let now = self.agent.sampler.params.model.to_string();
        if wanted == now || wanted == "inherit" {
            return None;
        }
        let known = self.deps.check_model(&wanted, &now).await.is_ok() && !NO_MODELS.contains(&&*wanted);
        if !known || !self.switch_model(&wanted).await {
            self.notice(Level::Info, texts::command_model_unused(&name, &wanted, &now));
            return None;
        }
        self.announce();
        Some(now)
    }

    /// Returns `false` if the model's settings can't be used.
    async fn switch_model(&mut self, model: &str) -> bool {
        match self.deps.settings_for(model).await {
            Ok(settings) => {
                self.agent.window.set_settings(settings);
                self.agent.sampler.params.model = model.into();
                self.agent.measure();
                true
            }
            Err(error) => {
                self.notice(Level::Error, texts::model_failed(&error, &error.hint));
                false
            }
        }
    }

    pub async fn use_chosen_model(&mut self, chosen: Option<(String, String)>) {
        let Some((provider, model)) = chosen else { return };
        let now = self.agent.sampler.params.model.to_string();
        if provider != self.agent.sampler.provider.name() {
            self.notice(Level::Warning, texts::session_model_unavailable(&model, &provider, &now));
        } else if model != now && !self.deps.loaded.model_flag && self.switch_model(&model).await {
            self.notice(Level::Info, texts::session_model(&model, &now));
        }
    }

    fn announce(&mut self) {
        let Agent { conversation, window, sampler, dispatcher, .. } = &self.agent;
        let info = SessionInfo {
            id: conversation.id.clone(),
            model: sampler.params.model.to_string(),
            provider: sampler.provider.name().to_owned(),
            permission: dispatcher.policy.permission(),
            most_permission: dispatcher.policy.most_permission(),
            mode: dispatcher.policy.mode(),
            workspace: self.deps.cx.root.to_string_lossy().into_owned(),
            turns: conversation.turns,
            effort: sampler.params.reasoning_effort.as_deref().map(str::to_owned),
            offer_init: self.deps.interactive
                && conversation.turns == 0
                && !window.prompt.rules.exists()
                && dispatcher.policy.rules().offers_init(),
        };
        let _ = self.events.send(Event::Session(info));
        let _ = self.events.send(Event::Window(window.state(conversation)));
        goal::announce(&self.agent, &self.events);
    }

    fn send_window(&mut self) {
        self.agent.measure();
        let _ = self.events.send(Event::Window(self.agent.window.state(&self.agent.conversation)));
    }

    fn notice(&self, level: Level, text: String) {
        notice(&self.events, level, text);
    }
}
