//! Servers within the program that started us: their messages go through Claude's control protocol
//! (`SDKControlMcpMessageRequest` of `@anthropic-ai/claude-agent-sdk` 0.3.332).

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use base::protocol::host::HostProgram;

const BUFFER_BYTES: usize = 64 * 1024;

type Ends = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

pub fn transport(
    host: Arc<dyn HostProgram>,
    server: String,
) -> AsyncRwTransport<RoleClient, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>> {
    let (ours, theirs) = duplex(BUFFER_BYTES);
    let (read, write): Ends = split(theirs);
    let (answers, answered) = unbounded_channel();
    tokio::spawn(relay(host, server, read, answers));
    tokio::spawn(deliver(answered, write));
    let (read, write) = split(ours);
    AsyncRwTransport::new_client(read, write)
}

/// Requests wait for their answers beside each other; notifications keep their order.
async fn relay(
    host: Arc<dyn HostProgram>,
    server: String,
    read: ReadHalf<DuplexStream>,
    answers: UnboundedSender<Value>,
) {
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message.get("id").cloned();
        let request = json!({"subtype": "mcp_message", "server_name": server, "message": message});
        let Some(id) = id else {
            let _ = host.request(request).await;
            continue;
        };
        let (host, answers) = (Arc::clone(&host), answers.clone());
        tokio::spawn(async move {
            let answer = match host.request(request).await {
                Ok(mut response) => response["mcp_response"].take(),
                Err(why) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": why}}),
            };
            let _ = answers.send(answer);
        });
    }
}

async fn deliver(mut answered: UnboundedReceiver<Value>, mut write: WriteHalf<DuplexStream>) {
    while let Some(answer) = answered.recv().await {
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}
