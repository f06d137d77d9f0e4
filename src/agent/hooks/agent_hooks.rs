//! The hooks as one agent uses them: what they are told of the session, and what becomes of what they say.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::calls::policy_engine::PolicyEngine;
use crate::control::{Events, notice};
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::config::trusted::agent_files::AgentFile;
use base::protocol::approval::Question;
use base::sanitize;
use base::text::elide;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::hook::event::HookEvent;
use tools::hook::notice as texts;
use tools::hook::runner::{Hooks, Occasion, Say};
use tools::hook::settings;
use tools::hook::verdict::HookVerdict;

/// Characters of what a hook adds that the model sees; more goes to a file, of which it sees the beginning.
const CONTEXT_CHARS: usize = 10_000;
const PREVIEW_CHARS: usize = 2_000;
/// What the engine waits for hooks at its end at most.
const MOST_AT_END: Duration = Duration::from_secs(60);

/// The hooks of an agent.
pub struct AgentHooks {
    hooks: Arc<Hooks>,
    cx: ToolCx,
    policy: Arc<PolicyEngine>,
    /// Of the session that the user sees.
    events: Events,
    /// Its id and log; sub-agents tell their parent's.
    session: Arc<Mutex<(String, PathBuf)>>,
    /// The sub-agent's id and type.
    agent: Option<(String, String)>,
    /// Those of the session's start: the first request waits for them.
    starting: Mutex<Option<JoinHandle<HookVerdict>>>,
    /// A hook wants the turn to end: its name, and why.
    stop: Mutex<Option<(String, String)>>,
}

impl AgentHooks {
    /// `None` where nothing is configured: then nothing is asked at all. Also what the user should know.
    pub fn new(
        files: &[AgentFile],
        cx: &ToolCx,
        policy: &Arc<PolicyEngine>,
        events: &Events,
    ) -> (Option<Arc<Self>>, Option<String>) {
        if files.is_empty() {
            return (None, None);
        }
        let settings = settings::parse(files, &cx.root);
        let tells = !settings.not_run.is_empty() && settings.off.is_empty();
        let unusable = tells.then(|| texts::not_run(&settings.not_run));
        let hooks = (!settings.hooks.is_empty()).then(|| {
            Arc::new(Self {
                hooks: Arc::new(Hooks::new(settings, &cx.root)),
                cx: cx.clone(),
                policy: Arc::clone(policy),
                events: events.clone(),
                session: Arc::default(),
                agent: None,
                starting: Mutex::default(),
                stop: Mutex::default(),
            })
        });
        (hooks, unusable)
    }

    /// The same hooks for a sub-agent.
    pub fn for_agent(&self, id: &str, kind: &str, cx: &ToolCx, policy: &Arc<PolicyEngine>) -> Arc<Self> {
        Arc::new(Self {
            hooks: Arc::clone(&self.hooks),
            cx: cx.clone(),
            policy: Arc::clone(policy),
            events: self.events.clone(),
            session: Arc::clone(&self.session),
            agent: Some((id.to_owned(), kind.to_owned())),
            starting: Mutex::default(),
            stop: Mutex::default(),
        })
    }

    pub fn wants(&self, event: HookEvent) -> bool {
        self.hooks.wants(event)
    }

    /// Whether hooks are told when the user is waited for.
    pub fn notifies(&self) -> bool {
        self.wants(HookEvent::Notification)
    }

    /// Whether it is a sub-agent's.
    pub fn is_agents(&self) -> bool {
        self.agent.is_some()
    }

    /// The sub-agent's type; empty for the agent itself.
    pub fn kind(&self) -> &str {
        self.agent.as_ref().map_or("", |(_, kind)| kind)
    }

    pub fn workspace(&self) -> &Path {
        &self.cx.root
    }

    pub fn policy(&self) -> &PolicyEngine {
        &self.policy
    }

    /// Another session begins or goes on. Its hooks run beside what the user does; the first request waits for them.
    pub fn start(self: &Arc<Self>, id: &str, log: PathBuf, source: &'static str, model: &str) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = (id.to_owned(), log);
        if !self.wants(HookEvent::SessionStart) {
            return;
        }
        let (hooks, more) = (Arc::clone(self), json!({"source": source, "model": model}));
        let work = async move {
            hooks.run(HookEvent::SessionStart, &[source], more, &CancellationToken::new()).await
        };
        let before = self.starting.lock().unwrap_or_else(PoisonError::into_inner).replace(tokio::spawn(work));
        if let Some(before) = before {
            before.abort();
        }
    }

    /// What the hooks of the session's start have to say, once; `None` too when the user does not want to wait.
    pub async fn started(&self, cancel: &CancellationToken) -> Option<HookVerdict> {
        let mut starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        tokio::select! {
            verdict = &mut starting => verdict.ok(),
            () = cancel.cancelled() => {
                *self.starting.lock().unwrap_or_else(PoisonError::into_inner) = Some(starting);
                None
            }
        }
    }

    /// The session ends; what runs in the background ends with it, after a moment.
    pub async fn end(&self, reason: &str) {
        let (cancel, matched) = (CancellationToken::new(), [reason]);
        let run = self.run(HookEvent::SessionEnd, &matched, json!({"reason": reason}), &cancel);
        let _ = tokio::time::timeout(MOST_AT_END, run).await;
        self.hooks.end().await;
    }

    /// Runs the hooks for an event; `more` is what this event tells beside what all tell.
    pub async fn run(
        &self,
        event: HookEvent,
        matched: &[&str],
        more: Value,
        cancel: &CancellationToken,
    ) -> HookVerdict {
        if !self.wants(event) {
            return HookVerdict::default();
        }
        let payload = self.payload(event, more);
        let cwd = self.cx.shell.cwd();
        let input = payload.get("tool_input").filter(|_| event.is_about_tool());
        let occasion = Occasion { event, matched, input, payload: &payload, cwd: &cwd };
        let verdict = self.hooks.run(occasion, cancel, &self.say()).await;
        if let Some(stop) = &verdict.stop {
            *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop.clone());
        }
        verdict
    }

    fn payload(&self, event: HookEvent, more: Value) -> Value {
        let (id, log) = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut payload = Map::new();
        payload.insert("session_id".to_owned(), id.into());
        payload.insert("transcript_path".to_owned(), log.to_string_lossy().into());
        payload.insert("cwd".to_owned(), self.cx.shell.cwd().to_string_lossy().into());
        payload.insert("permission_mode".to_owned(), self.permission_mode().into());
        payload.insert("hook_event_name".to_owned(), event.as_str().into());
        if let Some((id, kind)) = &self.agent {
            payload.insert("agent_id".to_owned(), id.as_str().into());
            payload.insert("agent_type".to_owned(), kind.as_str().into());
        }
        if let Value::Object(more) = more {
            payload.extend(more);
        }
        Value::Object(payload)
    }

    /// The level in Claude Code's words.
    fn permission_mode(&self) -> &'static str {
        match (self.policy.mode(), self.policy.permission()) {
            (mode, _) if mode != Mode::Auto => "plan",
            (_, Permission::ReadOnly) => "plan",
            (_, Permission::Ask) => "default",
            (_, Permission::Auto) => "acceptEdits",
            (_, Permission::Full) => "bypassPermissions",
        }
    }

    /// Tells the user what a hook did.
    pub fn say(&self) -> Say {
        let (events, redactor) = (self.events.clone(), Arc::clone(&self.cx.redactor));
        Arc::new(move |level, text| {
            let text = redactor.redact(&text, TextSource::Text).into_owned();
            notice(&events, level, text);
        })
    }

    /// What hooks in the background have said since the last time.
    pub fn take_late(&self) -> Vec<(String, String)> {
        self.hooks.take_late()
    }

    /// Why a hook wants the turn to end, once.
    pub fn take_stop(&self) -> Option<(String, String)> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What hooks said, as the model is told it: without secrets, and no longer than it may be.
    pub fn told(&self, contexts: &[(String, String)]) -> Option<String> {
        let one = |(name, text): &(String, String)| {
            let text = self.cx.redactor.redact(text.trim(), TextSource::Text);
            let text = sanitize::as_data(&text);
            let text = match text.chars().count() > CONTEXT_CHARS {
                false => text,
                true => {
                    let file = self.cx.spill.store("hook", text.as_bytes());
                    let whole =
                        file.map_or(String::new(), |file| format!("; the whole is in {}", file.display()));
                    format!("{}\n[cut{whole}]", elide(&text, PREVIEW_CHARS))
                }
            };
            format!("hook {name}: {text}")
        };
        let all: Vec<String> = contexts.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("<system-reminder>{}</system-reminder>", all.join("\n\n")))
    }

    /// The user is waited for; `question` is what for.
    pub async fn waits_for_user(&self, question: Option<&Question>) {
        let (kind, title, message) = match question {
            None => ("idle_prompt", "Waiting for input", "mycode is waiting for your input".to_owned()),
            Some(Question::Approval(request)) => (
                "permission_prompt",
                "Permission needed",
                format!("mycode needs your permission: {}", request.title),
            ),
            Some(_) => ("permission_prompt", "Answer needed", "mycode has a question for you".to_owned()),
        };
        let more = json!({"message": message, "title": title, "notification_type": kind});
        self.run(HookEvent::Notification, &[kind], more, &CancellationToken::new()).await;
    }
}
