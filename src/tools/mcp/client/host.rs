//! Servers within the host program, reached through Claude's control protocol
//! (`SDKControlMcpMessageRequest` of `@anthropic-ai/claude-agent-sdk` 0.3.332).

use std::convert::Infallible;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use base::process::task;
use base::protocol::host::HostProgram;

pub struct HostTransport {
    messages: UnboundedSender<Value>,
    answers: UnboundedReceiver<Value>,
}

impl HostTransport {
    pub fn new(host: Arc<dyn HostProgram>, server: String) -> Self {
        let (messages, sent) = unbounded_channel();
        let (answers, answered) = unbounded_channel();
        task::spawn(relay(host, server, sent, answers));
        Self { messages, answers: answered }
    }
}

impl Transport<RoleClient> for HostTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let _ = self.messages.send(json!(message));
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Ok(message) = serde_json::from_value(self.answers.recv().await?) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Sends requests concurrently, but notifications in order.
async fn relay(
    host: Arc<dyn HostProgram>,
    server: String,
    mut sent: UnboundedReceiver<Value>,
    answers: UnboundedSender<Value>,
) {
    while let Some(message) = sent.recv().await {
        let id = message.get("id").cloned();
        let request = json!({"subtype": "mcp_message", "server_name": server, "message": message});
        let Some(id) = id else {
            let _ = host.request(request).await;
            continue;
        };
        let (host, answers) = (Arc::clone(&host), answers.clone());
        task::spawn(async move {
            let answer = match host.request(request).await {
                Ok(mut response) => response["mcp_response"].take(),
                Err(why) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": why}}),
            };
            let _ = answers.send(answer);
        });
    }
}
