//! Hooks that are functions of the host program, called through Claude's control protocol as its SDKs
//! declare it (`SDKHookCallbackRequest`, `@anthropic-ai/claude-agent-sdk` 0.3.332).

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::process::Ran;
use super::settings::CALLBACKS;
use base::config::trusted::agent_files::AgentFile;
use base::protocol::host::HostProgram;

pub fn settings(hooks: &Value) -> AgentFile {
    let groups = |groups: &Value| -> Value {
        let group = |group: &Value| {
            let ids = group["hookCallbackIds"].as_array().cloned().unwrap_or_default();
            let hook = |id: Value| json!({"type": "callback", "command": id, "timeout": group["timeout"], "onFailure": group["onFailure"]});
            json!({"matcher": group["matcher"], "hooks": ids.into_iter().map(hook).collect::<Vec<_>>()})
        };
        groups.as_array().into_iter().flatten().map(group).collect()
    };
    let all = hooks.as_object().into_iter().flatten();
    let events: serde_json::Map<String, Value> =
        all.map(|(event, list)| (event.clone(), groups(list))).collect();
    AgentFile { path: PathBuf::from(CALLBACKS), text: json!({ "hooks": events }).to_string() }
}

/// Returns the answer as if a program had printed it.
pub async fn run(
    host: &dyn HostProgram,
    id: &str,
    payload: &[u8],
    most: Duration,
    cancel: &CancellationToken,
) -> io::Result<Ran> {
    let input: Value = serde_json::from_slice(payload)?;
    let mut request = json!({"subtype": "hook_callback", "callback_id": id});
    if let Some(call) = input.get("tool_use_id") {
        request["tool_use_id"] = call.clone();
    }
    request["input"] = input;
    let answered = tokio::select! {
        answered = tokio::time::timeout(most, host.request(request)) => answered,
        () = cancel.cancelled() => return Ok(Ran { cancelled: true, ..Ran::default() }),
    };
    Ok(match answered {
        Err(_) => Ran { timed_out: true, ..Ran::default() },
        Ok(Ok(answer)) => Ran { code: Some(0), stdout: answer.to_string(), ..Ran::default() },
        Ok(Err(why)) => Ran { code: Some(1), stderr: why, ..Ran::default() },
    })
}
