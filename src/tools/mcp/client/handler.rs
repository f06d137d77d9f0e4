//! What servers may ask of us: the project's location, and questions to the user. Sampling isn't offered, so
//! a server can't spend the user's tokens.

// Roots are being removed from the protocol, but current servers ask for them.
#![allow(deprecated)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::bounded::OutputFaults;
use super::error::McpError;
use crate::api::requires;
use crate::ports::{Asker, ProgressSink};
use base::process::task;
use base::protocol::approval::AskedQuestion;

#[derive(Clone)]
pub struct Caller {
    pub progress: ProgressSink,
    pub asker: Option<Arc<dyn Asker>>,
}

impl Caller {
    pub fn nobody() -> Self {
        Self { progress: Arc::new(|_| {}), asker: None }
    }
}

/// A server's question doesn't name its call, so it goes to the latest caller.
#[derive(Default)]
pub struct Calls {
    running: Mutex<Vec<(u64, Caller)>>,
    next: AtomicU64,
    pub sign_of_life: Notify,
    pub stale: AtomicBool,
    pub output: Arc<OutputFaults>,
    asked: AtomicU64,
}

pub struct RunningCall<'a> {
    calls: &'a Calls,
    id: u64,
}

impl Calls {
    /// From 2026-07-28 on, a server tells changes of its catalog only to who asks for them.
    pub fn watch(self: &Arc<Self>, peer: Peer<RoleClient>) {
        let Some(info) = peer.peer_info().filter(|info| !info.protocol_version.has_initialize()) else {
            return;
        };
        let mut wanted = SubscriptionFilter::new();
        let offered = &info.capabilities;
        wanted.tools_list_changed = offered.tools.as_ref().and_then(|tools| tools.list_changed);
        wanted.prompts_list_changed = offered.prompts.as_ref().and_then(|prompts| prompts.list_changed);
        wanted.resources_list_changed = offered.resources.as_ref().and_then(|all| all.list_changed);
        if wanted == SubscriptionFilter::new() {
            return;
        }
        let calls = Arc::clone(self);
        task::spawn(async move {
            let Ok(mut changes) = peer.listen(wanted).await else { return };
            while let Ok(Some(_)) = changes.next().await {
                calls.stale.store(true, Ordering::Relaxed);
            }
        });
    }

    pub fn begin(&self, caller: Caller) -> RunningCall<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.running.lock().push((id, caller));
        RunningCall { calls: self, id }
    }

    /// Time spent waiting for the user doesn't count toward timeouts.
    pub fn waits_for_user(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }

    /// What went wrong, rather than that the connection was lost.
    pub fn explain(&self, error: impl Into<McpError>) -> McpError {
        self.output.fault.get().map_or_else(|| error.into(), |why| McpError::Lost(why.clone()))
    }

    pub fn timeout(&self, limit: Duration) -> McpError {
        McpError::Timeout(limit, self.output.stray_line())
    }

    fn last(&self) -> Option<Caller> {
        let running = self.running.lock();
        running.last().map(|(_, caller)| caller.clone())
    }

    fn progressed(&self, line: &str) {
        self.sign_of_life.notify_waiters();
        if let Some(caller) = self.last() {
            (caller.progress)(line.to_owned());
        }
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.calls.running.lock().retain(|(running, _)| *running != self.id);
    }
}

pub struct Handler {
    pub server: String,
    pub root: String,
    pub calls: Arc<Calls>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        // The last version with `initialize`; the newer handshake names its own version.
        ClientConfig::new(capabilities, Implementation::new("mycode", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone()).with_name("project")]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Ok(declined);
        };
        let Some(asker) = self.calls.last().and_then(|caller| caller.asker) else { return Ok(declined) };
        let schema = serde_json::to_value(requested_schema).unwrap_or_default();
        let message = format!("{} asks: {message}", self.server);
        self.calls.asked.fetch_add(1, Ordering::Relaxed);
        self.calls.sign_of_life.notify_waiters();
        let answer = ask_user(asker.as_ref(), &message, &schema).await;
        self.calls.asked.fetch_sub(1, Ordering::Relaxed);
        self.calls.sign_of_life.notify_waiters();
        Ok(answer
            .map_or(declined, |content| ElicitResult::new(ElicitationAction::Accept).with_content(content)))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let share = progress
            .total
            .map_or(progress.progress.to_string(), |total| format!("{}/{total}", progress.progress));
        let line = progress.message.map_or(share.clone(), |message| format!("{message} ({share})"));
        self.calls.progressed(&line);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.calls.stale.store(true, Ordering::Relaxed);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.calls.stale.store(true, Ordering::Relaxed);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.calls.stale.store(true, Ordering::Relaxed);
    }
}

// A server's questions to the user: one per property of its schema; an empty answer takes the default.

/// The user's values in the schema's form; `None` if the user declined or left out a required value.
async fn ask_user(asker: &dyn Asker, message: &str, schema: &Value) -> Option<Value> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    if properties.is_empty() {
        let question = AskedQuestion {
            question: message.to_owned(),
            options: vec!["Yes".into(), "No".into()],
            optional: false,
        };
        let replies = asker.ask(vec![question]).await?;
        let yes = replies.first().is_none_or(|reply| !reply.to_lowercase().starts_with('n'));
        return yes.then(|| Value::Object(Map::new()));
    }
    let questions = properties.iter().map(|(name, shape)| AskedQuestion {
        optional: !requires(schema, name) || !shape["default"].is_null(),
        ..question(message, name, shape)
    });
    let questions = questions.collect();
    let replies = asker.ask(questions).await?;
    let mut content = Map::new();
    for ((name, shape), reply) in properties.iter().zip(replies) {
        match value(shape, reply.trim()) {
            Some(value) => {
                content.insert(name.clone(), value);
            }
            None if requires(schema, name) => return None,
            None => {}
        }
    }
    Some(Value::Object(content))
}

fn question(message: &str, name: &str, shape: &Value) -> AskedQuestion {
    let text = |key: &str| shape[key].as_str().filter(|text| !text.is_empty());
    let mut question = format!("{message}\n{}", text("title").unwrap_or(name));
    if let Some(description) = text("description") {
        question.push_str(&format!(": {description}"));
    }
    let default = &shape["default"];
    if !default.is_null() {
        question.push_str(&format!(" [{}]", default.as_str().map_or(default.to_string(), str::to_owned)));
    }
    let options = match shape["type"].as_str() {
        Some("boolean") => vec!["yes".to_owned(), "no".to_owned()],
        _ => choices(shape).into_iter().map(|(_, label)| label).collect(),
    };
    AskedQuestion { question, options, optional: false }
}

fn choices(shape: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let plain =
        |all: &Value| -> Vec<String> { all.as_array().into_iter().flatten().filter_map(text).collect() };
    let shape = if shape["items"].is_object() { &shape["items"] } else { shape };
    let values = plain(&shape["enum"]);
    if !values.is_empty() {
        let names = plain(&shape["enumNames"]);
        let label = |(at, value): (usize, String)| (value.clone(), names.get(at).cloned().unwrap_or(value));
        return values.into_iter().enumerate().map(label).collect();
    }
    let titled = shape["oneOf"].as_array().or_else(|| shape["anyOf"].as_array());
    let titled = titled.into_iter().flatten().filter_map(|one| {
        let value = text(&one["const"])?;
        Some((value.clone(), text(&one["title"]).unwrap_or(value)))
    });
    titled.collect()
}

/// The reply as the schema's type; `None` if it doesn't fit and there is no default.
fn value(shape: &Value, reply: &str) -> Option<Value> {
    if reply.is_empty() {
        return Some(shape["default"].clone()).filter(|default| !default.is_null());
    }
    let choices = choices(shape);
    let chosen = |reply: &str| {
        let is = |(value, label): &&(String, String)| reply == value || reply.eq_ignore_ascii_case(label);
        if choices.is_empty() { Some(reply.to_owned()) } else { Some(choices.iter().find(is)?.0.clone()) }
    };
    match shape["type"].as_str() {
        Some("boolean") => match reply.to_lowercase().as_str() {
            "yes" | "y" | "true" => Some(true.into()),
            "no" | "n" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => reply.parse::<i64>().ok().map(Value::from),
        Some("number") => reply.parse::<f64>().ok().map(Value::from),
        Some("array") => {
            let all = reply.split(',').map(|one| chosen(one.trim()).map(Value::from));
            all.collect::<Option<Vec<_>>>().map(Value::from)
        }
        _ => chosen(reply).map(Value::from),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;

    struct Replies(&'static [&'static str]);

    impl Asker for Replies {
        fn ask(&self, _: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>> {
            let replies = self.0.iter().map(|reply| (*reply).to_owned()).collect();
            Box::pin(async { Some(replies) })
        }
    }

    #[tokio::test]
    async fn values_and_defaults() {
        let schema = json!({"required": ["n"], "properties": {
            "n": {"type": "integer", "default": 3},
            "s": {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
            "b": {"type": "boolean", "default": true},
            "l": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X-ray"}, {"const": "y"}]}},
        }});
        let fields = &schema;
        let asked =
            |replies: &'static [&'static str]| async move { ask_user(&Replies(replies), "?", fields).await };
        assert_eq!(asked(&["", "", "", ""]).await, Some(json!({"n": 3, "b": true})));
        let all = json!({"n": 5, "s": "b", "b": false, "l": ["x", "y"]});
        assert_eq!(asked(&["5", "second", "no", "x-ray, y"]).await, Some(all));
        assert_eq!(asked(&["five", "", "", ""]).await, None);
        let shown = question("m", "s", &schema["properties"]["s"]);
        assert_eq!((shown.question.as_str(), shown.options.len()), ("m\ns", 2));
    }
}
