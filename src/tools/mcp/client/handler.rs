//! What servers may request from us: the project's location, and questions to the user. Sampling isn't offered, so
//! a server can't spend the user's tokens.
// Roots are being removed from the protocol, but current servers still request them.
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
use tokio::sync::Notify;

use super::bounded::OutputFaults;
use super::elicitation;
use super::error::McpError;
use crate::ports::{Asker, ProgressSink};
use base::process::task;

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
    /// Since 2026-07-28, a server reports changes of its catalog only to clients that subscribe.
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

    /// The output's fault if there is one, because it tells more than a lost connection.
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
        let answer = elicitation::ask(asker.as_ref(), &message, &schema).await;
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
