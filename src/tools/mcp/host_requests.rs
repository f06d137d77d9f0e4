//! The host program's requests about servers (`SDKControlMcpSetServersRequest` and `SDKControlMcpReadResourceRequest`
//! of `@anthropic-ai/claude-agent-sdk` 0.3.332).

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::config::server::Transport;
use super::servers::{self, Servers};
use base::config::files::load::Loaded;
use base::config::trusted::agent_files::AgentFile;

/// The only resources that this protocol reads: tools' pages for people.
const PAGE: &str = "ui://";

pub async fn set_servers(servers: &Servers, loaded: &Loaded, wanted: &Value) -> Value {
    let text = json!({ "mcpServers": wanted }).to_string();
    let (mut found, problems) = servers::configured(&[AgentFile { path: "the SDK".into(), text }], loaded);
    found.retain(|server| server.enabled);
    let is_of = |problem: &&String, name: &str| problem.contains(&format!("server '{name}'"));
    let names = wanted.as_object().into_iter().flat_map(Map::keys);
    let wrong =
        |name: &String| Some((name.clone(), problems.iter().find(|one| is_of(one, name))?.as_str().into()));
    let mut errors: Map<String, Value> = names.filter_map(wrong).collect();
    let (added, removed) = servers.replace(found);
    let started = join_all(added.iter().map(|name| servers.catalog(name))).await;
    for (name, started) in added.iter().zip(started) {
        if let Err(error) = started {
            errors.insert(name.clone(), error.to_string().into());
        }
    }
    json!({"added": added, "removed": removed, "errors": errors})
}

pub async fn read_page(servers: &Servers, server: &str, uri: &str) -> Result<Value, String> {
    if !uri.starts_with(PAGE) {
        return Err(format!("{uri} is not a {PAGE} resource"));
    }
    let is_ours = |server: &Transport| !matches!(server, Transport::Host);
    if !servers.all().iter().any(|known| known.name == server && is_ours(&known.transport)) {
        return Err(format!("Server not found: {server}"));
    }
    let cancel = &CancellationToken::new();
    let read = servers.with(server, |connection| async move { connection.resource(uri, cancel).await });
    read.await.map(|contents| json!({ "contents": contents })).map_err(|error| error.to_string())
}
