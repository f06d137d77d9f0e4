//! The hooks of one agent: their input, and what is done with their output.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::calls::policy_engine::PolicyEngine;
use crate::control::{Events, notice};
use base::config::trusted::agent_files::AgentFile;
use base::process::task;
use base::protocol::approval::Question;
use base::protocol::claude_tools;
use base::sanitize;
use base::text::elide;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::hook::answer::HookVerdict;
use tools::hook::event::HookEvent;
use tools::hook::notice as texts;
use tools::hook::runner::{Hooks, Occasion, Say};
use tools::hook::settings;

/// Characters of a hook's output sent to the model; longer output goes to a file, with a preview.
const CONTEXT_CHARS: usize = 10_000;
const PREVIEW_CHARS: usize = 2_000;
const MOST_AT_END: Duration = Duration::from_secs(60);

pub struct AgentHooks {
    hooks: Arc<Hooks>,
    pub cx: ToolCx,
    pub policy: Arc<PolicyEngine>,
    /// The user's session, also for sub-agents.
    events: Events,
    /// Session id and log; sub-agents send their parent's.
    session: Arc<Mutex<(String, PathBuf)>>,
    agent: Option<(String, String)>,
    starting: Mutex<Option<JoinHandle<HookVerdict>>>,
    stop: Mutex<Option<(String, String)>>,
}

impl AgentHooks {
    /// `None` if no hooks are configured; the text is a warning for the user.
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
                hooks: Arc::new(Hooks::new(settings, &cx.root, cx.host.clone())),
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

    pub fn notifies(&self) -> bool {
        self.wants(HookEvent::Notification)
    }

    pub fn agent_kind(&self) -> Option<&str> {
        self.agent.as_ref().map(|(_, kind)| kind.as_str())
    }

    /// Runs the SessionStart hooks in the background; the first request waits for them.
    pub fn start(self: &Arc<Self>, id: &str, log: PathBuf, source: &'static str, model: &str) {
        *self.session.lock() = (id.to_owned(), log);
        if !self.wants(HookEvent::SessionStart) {
            return;
        }
        let (hooks, more) = (Arc::clone(self), json!({"source": source, "model": model}));
        let work = async move {
            hooks.run(HookEvent::SessionStart, &[source], more, &CancellationToken::new()).await
        };
        let before = self.starting.lock().replace(task::spawn(work));
        if let Some(before) = before {
            before.abort();
        }
    }

    /// Waits for the SessionStart hooks. `None` if they were taken before or the user interrupts.
    pub async fn started(&self, cancel: &CancellationToken) -> Option<HookVerdict> {
        let mut starting = self.starting.lock().take()?;
        tokio::select! {
            verdict = &mut starting => verdict.ok(),
            () = cancel.cancelled() => {
                *self.starting.lock() = Some(starting);
                None
            }
        }
    }

    pub async fn end(&self, reason: &str) {
        let (cancel, matched) = (CancellationToken::new(), [reason]);
        let run = self.run(HookEvent::SessionEnd, &matched, json!({"reason": reason}), &cancel);
        let _ = tokio::time::timeout(MOST_AT_END, run).await;
        self.hooks.end().await;
    }

    /// Runs the hooks for an event; `more` is added to the payload.
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
            *self.stop.lock() = Some(stop.clone());
        }
        verdict
    }

    fn payload(&self, event: HookEvent, more: Value) -> Value {
        let (id, log) = self.session.lock().clone();
        let mut payload = json!({
            "session_id": id,
            "transcript_path": log.to_string_lossy(),
            "cwd": self.cx.shell.cwd().to_string_lossy(),
            "permission_mode": claude_tools::permission_mode(self.policy.permission(), self.policy.mode()),
            "hook_event_name": format!("{event:?}"),
        });
        if let Some((id, kind)) = &self.agent {
            payload["agent_id"] = json!(id);
            payload["agent_type"] = json!(claude_tools::agent_type(kind));
        }
        extended(payload, more)
    }

    pub fn say(&self) -> Say {
        let (events, redactor) = (self.events.clone(), Arc::clone(&self.cx.redactor));
        Arc::new(move |level, text| {
            let text = redactor.redact(&text, TextSource::Text).into_owned();
            notice(&events, level, text);
        })
    }

    pub fn take_late(&self) -> Vec<(String, String)> {
        self.hooks.take_late()
    }

    pub fn take_stop(&self) -> Option<(String, String)> {
        self.stop.lock().take()
    }

    /// The hooks' output for the model: redacted and cut.
    pub fn told(&self, contexts: &[(String, String)]) -> Option<String> {
        let one = |(name, text): &(String, String)| {
            let text = self.cx.redactor.redact(text.trim(), TextSource::Text);
            let text = sanitize::as_data(&text);
            let text = match text.chars().count() > CONTEXT_CHARS {
                false => text,
                true => {
                    let file = self.cx.spill.store("hook", text.as_bytes());
                    let whole = file
                        .map_or(String::new(), |file| format!("; the full output is in {}", file.display()));
                    format!("{}\n[cut{whole}]", elide(&text, PREVIEW_CHARS))
                }
            };
            format!("hook {name}: {text}")
        };
        let all: Vec<String> = contexts.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("<system-reminder>{}</system-reminder>", all.join("\n\n")))
    }

    /// Runs the Notification hooks when mycode waits for the user, e.g. to answer `question`.
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

pub fn extended(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}
