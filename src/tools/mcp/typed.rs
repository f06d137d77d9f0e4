//! References to servers in a user's message: `@server:uri` is a resource, `/server:prompt` a prompt.

use std::sync::Arc;

use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::config::server::Server;
use super::result;
use super::servers::Servers;
use crate::output::{Keep, Limits, Spill};
use base::protocol::event::CommandRow;

/// Resources per message; more can be requested in the next one.
const MAX_RESOURCES: usize = 5;

/// Arguments are `name=value`, or positional with the last one taking the rest.
pub async fn prompt(
    servers: &Servers,
    text: &str,
    cancel: &CancellationToken,
) -> Option<Result<String, String>> {
    let (command, rest) = text.strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((&text[1..], ""));
    let bare = command.strip_prefix("mcp__");
    let (server, name) = bare.and_then(|bare| bare.split_once("__")).or_else(|| command.split_once(':'))?;
    servers.all().iter().find(|known| known.name == server)?;
    Some(filled(servers, server, name, rest.trim(), cancel).await)
}

async fn filled(
    servers: &Servers,
    server: &str,
    name: &str,
    rest: &str,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let said = |error| format!("MCP server {server}: {error}");
    let catalog = servers.catalog(server).await.map_err(said)?;
    let prompt = catalog.prompts.iter().find(|prompt| prompt.name == name);
    let prompt = prompt.ok_or_else(|| format!("{server} has no prompt {name}"))?;
    let mut args = Map::new();
    let mut rest = rest;
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let last = arguments.len().saturating_sub(1);
    for (at, argument) in arguments.iter().enumerate() {
        let named =
            rest.split_whitespace().find_map(|word| word.strip_prefix(&argument.name)?.strip_prefix('='));
        let value = match named {
            Some(value) => value,
            None if at == last => std::mem::take(&mut rest),
            None => {
                let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                rest = after.trim_start();
                word
            }
        };
        if !value.is_empty() {
            args.insert(argument.name.clone(), value.into());
        } else if argument.required == Some(true) {
            return Err(format!("/{server}:{name} needs {}", argument.name));
        }
    }
    let contents = servers
        .with(server, |connection| {
            let args = args.clone();
            async move { connection.prompt(name, args, cancel).await }
        })
        .await;
    contents.map(result::text).map_err(said)
}

pub async fn resources(
    servers: &Servers,
    text: &str,
    spill: &Spill,
    limits: Limits,
    cancel: &CancellationToken,
) -> Vec<String> {
    let mut blocks = Vec::new();
    for (server, uri) in mentions(servers, text).into_iter().take(MAX_RESOURCES) {
        let read = servers.with(&server, |connection| {
            let uri = uri.clone();
            async move { connection.read(&uri, cancel).await }
        });
        let body = match read.await {
            Ok(contents) => spill.truncate(result::text(contents), Keep::Head, limits).body,
            Err(error) => format!("could not be read: {error}"),
        };
        blocks.push(format!("<resource server=\"{server}\" uri=\"{uri}\">\n{body}\n</resource>"));
    }
    blocks
}

fn mentions(servers: &Servers, text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let Some(mention) = word.trim_start_matches(['(', '"']).strip_prefix('@') else { continue };
        let named = servers.all().iter().find_map(|server| {
            let uri = mention.strip_prefix(server.name.as_str())?.strip_prefix(':')?;
            Some((server.name.clone(), uri.trim_end_matches([',', '.', ';', ')', '"', '?', '!']).to_owned()))
        });
        found.extend(named.filter(|(_, uri)| uri.contains(':')));
    }
    found.dedup();
    found
}

pub fn commands(servers: &Servers) -> Vec<CommandRow> {
    let of = |server: Arc<Server>| {
        let named = |row: CommandRow| CommandRow { name: format!("{}:{}", server.name, row.name), ..row };
        servers.known(&server.name).prompts.into_iter().map(named).collect::<Vec<_>>()
    };
    servers.all().into_iter().flat_map(of).collect()
}
