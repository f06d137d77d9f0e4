//! Runs an event's hooks in parallel: waits for those that decide, runs the others in the background.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::answer::{self, Decision, HookAnswer, HookVerdict};
use super::event::HookEvent;
use super::process::{self, Ran};
use super::settings::{Hook, HookSettings};
use super::{callback, notice};
use base::protocol::event::Level;
use base::protocol::host::HostProgram;
use guard::policy::tool_rule::{Match, ToolRule, is_about_command};
use guard::sandbox::rule_pattern::is_about_path;
use guard::shell::interpret::interpreter;

const SLOW: Duration = Duration::from_secs(5);
/// Time for background hooks when the session ends, such as a sound at the end of a turn.
const LAST_MOMENT: Duration = Duration::from_millis(1_500);

pub type Say = Arc<dyn Fn(Level, String) + Send + Sync>;

pub struct Occasion<'a> {
    pub event: HookEvent,
    /// What matchers apply to: all names of a tool, or one word; may be empty.
    pub matched: &'a [&'a str],
    pub input: Option<&'a Value>,
    pub payload: &'a Value,
    pub cwd: &'a Path,
}

#[derive(Default)]
pub struct Hooks {
    settings: HookSettings,
    workspace: PathBuf,
    host: Option<Arc<dyn HostProgram>>,
    running: Mutex<JoinSet<()>>,
    late: Mutex<Vec<(String, String)>>,
    failures: Mutex<HashSet<String>>,
}

impl Hooks {
    pub fn new(settings: HookSettings, workspace: &Path, host: Option<Arc<dyn HostProgram>>) -> Self {
        Self { settings, workspace: workspace.to_owned(), host, ..Self::default() }
    }

    pub fn settings(&self) -> &HookSettings {
        &self.settings
    }

    /// Whether any hook runs on this event; if not, its payload needn't be prepared.
    pub fn wants(&self, event: HookEvent) -> bool {
        self.settings.hooks.iter().any(|hook| hook.event == event)
    }

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
                    .is_none_or(|rule| call.is_some_and(|call| condition_holds(rule, call)))
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

    async fn one(
        &self,
        hook: &Hook,
        payload: &[u8],
        cwd: &Path,
        cancel: &CancellationToken,
        say: &Say,
    ) -> HookAnswer {
        let folders = (self.workspace.as_path(), cwd);
        // Boxed, because a sub-agent's calls run within a call.
        let mut run: BoxFuture<'_, io::Result<Ran>> =
            match self.host.as_ref().filter(|_| hook.program.is_callback) {
                Some(host) => {
                    let id = &hook.program.command;
                    Box::pin(callback::run(&**host, id, payload, hook.timeout, cancel))
                }
                None => Box::pin(process::run(&hook.program, payload, folders, hook.timeout, cancel)),
            };
        let ran = tokio::select! {
            ran = &mut run => ran,
            () = tokio::time::sleep(SLOW) => {
                let status = hook.status.as_deref();
                say(Level::Info, notice::still_running(&hook.name, SLOW, hook.timeout, status));
                run.await
            }
        };
        let mut answer = match ran {
            Ok(ran) if ran.cancelled => return HookAnswer::default(),
            Ok(ran) if ran.timed_out => {
                HookAnswer { failure: Some(notice::too_slow(hook.timeout)), ..HookAnswer::default() }
            }
            Ok(ran) => answer::read(hook.event, &ran),
            Err(error) => {
                HookAnswer { failure: Some(format!("it can't be started: {error}")), ..HookAnswer::default() }
            }
        };
        if let Some(why) = &answer.failure {
            let text = notice::failed(&hook.name, hook.event, why, hook.fails_closed);
            // Reporting a hook that fails on every call would drown out everything else.
            let is_new = self.failures.lock().insert(text.clone());
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
        // A strong reference would be a cycle.
        let hooks = Arc::downgrade(self);
        let mut running = self.running.lock();
        while running.try_join_next().is_some() {}
        running.spawn(async move {
            let Some(hooks) = hooks.upgrade() else { return };
            let answer = hooks.one(&hook, &payload, &cwd, &CancellationToken::new(), &say).await;
            // Too late to decide, but the reason may be useful.
            let no = (answer.decision == Some(Decision::Block)).then_some(answer.reason);
            let mut late = hooks.late.lock();
            late.extend(answer.context.or(no).map(|text| (hook.name, text)));
        });
    }

    pub fn take_late(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.late.lock())
    }

    pub async fn end(&self) {
        let mut running = std::mem::take(&mut *self.running.lock());
        let _ = timeout(LAST_MOMENT, async { while running.join_next().await.is_some() {} }).await;
    }
}

#[derive(Clone, Copy, Debug)]
struct HookedCall<'a> {
    /// All names of the tool; the first one is reported to hooks.
    names: &'a [&'a str],
    input: &'a Value,
    workspace: &'a Path,
}

/// Whether the rule may cover the call; if in doubt, the hook runs. A rule for Edit covers every tool that writes files.
fn condition_holds(rule: &ToolRule, call: HookedCall<'_>) -> bool {
    let HookedCall { names, input, workspace } = call;
    let edits = rule.tool == "Edit" && names.iter().any(|name| matches!(*name, "Write" | "MultiEdit"));
    if !edits && !names.iter().any(|name| rule.names(name)) {
        return false;
    }
    let Some(pattern) = &rule.pattern else { return true };
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let calls = interpreter::calls(command, workspace, None).ok();
        return is_about_command(pattern, calls.as_ref()) != Match::No;
    }
    if let Some(path) = text("file_path").or_else(|| text("path")) {
        return is_about_path(pattern, Path::new(path), workspace);
    }
    let plain = pattern.strip_prefix("domain:").unwrap_or(pattern);
    match text("url").or_else(|| text("subagent_type")) {
        Some(told) => told.contains(plain.trim_matches('*')),
        None => true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_and_calls() {
        let holds = |rule: &str, names: &[&str], input: Value| {
            super::condition_holds(
                &ToolRule::parse(rule).unwrap(),
                HookedCall { names, input: &input, workspace: Path::new("/w") },
            )
        };
        assert!(holds("Bash(git *)", &["Bash"], json!({"command": "cd x && git push"})));
        assert!(!holds("Bash(git *)", &["Bash"], json!({"command": "ls"})));
        assert!(holds("Bash(git *)", &["Bash"], json!({"command": "if [ "})));
        assert!(holds("Edit(*.ts)", &["Write"], json!({"file_path": "/w/a/b.ts"})));
        assert!(!holds("Edit(*.ts)", &["Edit"], json!({"file_path": "/w/a/b.rs"})));
        assert!(!holds("Read(*.ts)", &["Edit"], json!({"file_path": "/w/b.ts"})));
        assert!(holds("WebFetch(domain:docs.rs)", &["WebFetch"], json!({"url": "https://docs.rs/x"})));
    }
}
