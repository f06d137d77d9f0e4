//! Runs the hooks that an occasion is for: at the same time, those that decide to their end, the others in the background.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::answer::{self, Answer, Decision};
use super::condition::{self, HookedCall};
use super::event::HookEvent;
use super::notice;
use super::process;
use super::settings::{Hook, HookSettings};
use super::verdict::HookVerdict;
use base::protocol::event::Level;

/// The user is told of a hook that runs so long.
const SLOW: Duration = Duration::from_secs(5);
/// What those in the background are given when the session ends: what a turn's end began, as a sound, is heard.
const LAST_MOMENT: Duration = Duration::from_millis(1_500);

/// Tells the user something.
pub type Say = Arc<dyn Fn(Level, String) + Send + Sync>;

/// Something that hooks are told of.
pub struct Occasion<'a> {
    pub event: HookEvent,
    /// What matchers look at: all names of a tool, or one word; empty where there is nothing.
    pub matched: &'a [&'a str],
    /// Arguments of the call that it is about.
    pub input: Option<&'a Value>,
    /// What is told, as JSON.
    pub payload: &'a Value,
    pub cwd: &'a Path,
}

/// The hooks of a session and its sub-agents.
#[derive(Default)]
pub struct Hooks {
    settings: HookSettings,
    workspace: PathBuf,
    running: Mutex<JoinSet<()>>,
    /// What those in the background had to say, until the model is told.
    late: Mutex<Vec<(String, String)>>,
    /// What the user was told of failures.
    failures: Mutex<HashSet<String>>,
}

impl Hooks {
    pub fn new(settings: HookSettings, workspace: &Path) -> Self {
        Self { settings, workspace: workspace.to_owned(), ..Self::default() }
    }

    pub fn settings(&self) -> &HookSettings {
        &self.settings
    }

    /// Whether a hook runs on this event at all. Where not, nothing is to be prepared for it.
    pub fn wants(&self, event: HookEvent) -> bool {
        self.settings.hooks.iter().any(|hook| hook.event == event)
    }

    /// Runs those that the occasion is for.
    pub async fn run(
        self: &Arc<Self>,
        occasion: Occasion<'_>,
        cancel: &CancellationToken,
        say: &Say,
    ) -> HookVerdict {
        let Occasion { event, matched, input, payload, cwd } = occasion;
        let is_for = |hook: &&Hook| {
            let call = input.map(|input| HookedCall { names: matched, input, workspace: &self.workspace });
            hook.event == event
                && (matched.is_empty() || hook.matcher.is_for(matched))
                && hook
                    .condition
                    .as_ref()
                    .is_none_or(|rule| call.is_some_and(|call| condition::holds(rule, call)))
        };
        let (background, asked): (Vec<&Hook>, Vec<&Hook>) =
            self.settings.hooks.iter().filter(is_for).partition(|hook| hook.in_background);
        let mut verdict = HookVerdict::default();
        if background.is_empty() && asked.is_empty() {
            return verdict;
        }
        let payload: Arc<[u8]> = payload.to_string().into_bytes().into();
        for hook in background {
            self.start(hook.clone(), Arc::clone(&payload), cwd.to_owned(), Arc::clone(say));
        }
        let answers = join_all(asked.iter().map(|hook| self.one(hook, &payload, cwd, cancel, say))).await;
        let what = matched.first().copied().unwrap_or_default();
        for (hook, answer) in asked.into_iter().zip(answers) {
            if answer.decision == Some(Decision::Block) {
                say(Level::Info, notice::blocked(&hook.name, event, what, &answer.reason));
            }
            verdict.add(&hook.name, answer);
        }
        verdict
    }

    /// Runs one to its end, and tells the user what it did.
    async fn one(
        &self,
        hook: &Hook,
        payload: &[u8],
        cwd: &Path,
        cancel: &CancellationToken,
        say: &Say,
    ) -> Answer {
        let folders = (self.workspace.as_path(), cwd);
        let mut run = std::pin::pin!(process::run(&hook.program, payload, folders, hook.timeout, cancel));
        let ran = tokio::select! {
            ran = &mut run => ran,
            () = tokio::time::sleep(SLOW) => {
                let status = hook.status.as_deref();
                say(Level::Info, notice::still_running(&hook.name, SLOW, hook.timeout, status));
                run.await
            }
        };
        let mut answer = match ran {
            Ok(ran) if ran.cancelled => return Answer::default(),
            Ok(ran) if ran.timed_out => {
                Answer { failure: Some(notice::too_slow(hook.timeout)), ..Answer::default() }
            }
            Ok(ran) => answer::read(hook.event, &ran),
            Err(error) => {
                Answer { failure: Some(format!("it can't be started: {error}")), ..Answer::default() }
            }
        };
        if let Some(why) = &answer.failure {
            let text = notice::failed(&hook.name, hook.event, why, hook.fails_closed);
            // One that fails at every call would bury all else.
            let is_new = self.failures.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone());
            if is_new || hook.fails_closed {
                say(Level::Warning, text);
            }
            if hook.fails_closed {
                (answer.decision, answer.reason) = (Some(Decision::Block), format!("the hook failed: {why}"));
            }
        }
        if let Some(message) = &answer.message {
            say(Level::Info, notice::said(&hook.name, message));
        }
        if let Some(context) = &answer.context {
            say(Level::Info, notice::added(&hook.name, context));
        }
        answer
    }

    fn start(self: &Arc<Self>, hook: Hook, payload: Arc<[u8]>, cwd: PathBuf, say: Say) {
        // It would hold what holds it.
        let hooks = Arc::downgrade(self);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(async move {
            let Some(hooks) = hooks.upgrade() else { return };
            let answer = hooks.one(&hook, &payload, &cwd, &CancellationToken::new(), &say).await;
            // It is too late for a decision; its reason is worth knowing.
            let no = (answer.decision == Some(Decision::Block)).then_some(answer.reason);
            let mut late = hooks.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.extend(answer.context.or(no).map(|text| (hook.name, text)));
        });
    }

    /// What hooks in the background have said since the last time that this was asked.
    pub fn take_late(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.late.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits a moment for those in the background, then ends them.
    pub async fn end(&self) {
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(LAST_MOMENT, async { while running.join_next().await.is_some() {} }).await;
    }
}
