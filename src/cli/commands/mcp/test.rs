//! `mycode mcp test` and `login`: starts servers as the agent would, shows what they offer, or calls a tool.

use std::io::Write;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::manage::{TestArgs, oauth};
use super::open::{self, OpenedServers};
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure, OrFail};
use base::config::files::load;
use base::protocol::approval::AskedQuestion;
use base::sanitize::clean;
use tools::mcp::client::connector::ServerPlace;
use tools::mcp::client::error::McpError;
use tools::mcp::client::handler::Caller;
use tools::mcp::config::server::{OAuth, Server, Transport};
use tools::mcp::servers::Servers;
use tools::mcp::{describe, result};
use tools::ports::Asker;

/// Returns whether all servers answer.
pub async fn run(cli: &SharedArgs, args: &TestArgs) -> Result<bool, Failure> {
    let mut opened = open::open(cli)?;
    let Some(name) = &args.server else { return all(opened).await };
    if name.starts_with("http://") || name.starts_with("https://") {
        let headers = load::header_table(&args.http.header)?.unwrap_or_default().into_iter().collect();
        let oauth = match oauth(&args.http)? {
            Value::Null => OAuth::default(),
            given => serde_json::from_value(given).or_usage("--oauth", "see `mycode mcp test --help`")?,
        };
        let server = Server::at(name, headers, oauth);
        opened.place.state = opened.place.state.join("tried");
        let tried = one(&opened.place, server.clone(), args).await;
        // Keep nothing of a server that is only being tried.
        let _ = std::fs::remove_dir_all(opened.place.folder_of(&server));
        return tried;
    }
    let mut server = opened.find(name)?.clone();
    if args.json {
        let signed_in = opened.place.credentials_of(&server).exists();
        return report::print(&format!("{:#}\n", describe::as_codex(&server, signed_in))).map(|()| true);
    }
    server.enabled = true;
    one(&opened.place, server, args).await
}

async fn one(place: &ServerPlace, server: Server, args: &TestArgs) -> Result<bool, Failure> {
    let name = &server.name;
    let servers = Servers::new(vec![server.clone()], place.clone());
    let Some(tool) = &args.call else {
        let text = describe::offered(&servers, &server).await.map_err(|error| failure(&server, &error))?;
        report::say(&text)?;
        return Ok(true);
    };
    let input: Map<String, Value> =
        serde_json::from_str(&args.args).or_usage("--args isn't a JSON object", "write --args '{…}'")?;
    // Like the agent, call only what is offered.
    let catalog = servers.catalog(name).await.map_err(|error| failure(&server, &error))?;
    let Some(tool) = catalog.tools.iter().find(|known| known.name == *tool) else {
        let names: Vec<&str> = catalog.tools.iter().map(|tool| &*tool.name).collect();
        let hint = format!("it has: {}", names.join(", "));
        return Err(Failure::usage(format!("{name} has no tool {tool}"), hint));
    };
    let ours = catalog.is_ours(tool);
    let called = servers.with(name, |connection| {
        let (input, cancel) = (input.clone(), CancellationToken::new());
        async move { connection.call(tool, ours, input, caller(), &cancel).await }
    });
    let result = called.await.map_err(|error| failure(&server, &error))?;
    let failed = result.failed;
    report::say(&format!("{}\n", result::text(result.content)))?;
    Ok(!failed)
}

pub async fn login(cli: &SharedArgs, name: &str) -> Result<(), Failure> {
    let opened = open::open(cli)?;
    let server = opened.find(name)?.clone();
    if let Transport::Stdio { .. } = server.transport {
        let hint = "set its keys with `mycode mcp add --env NAME=VALUE`";
        return Err(Failure::usage(format!("{name} is a program and signs in on its own"), hint));
    }
    let servers = Servers::new(vec![server.clone()], opened.place);
    servers.catalog(name).await.map_err(|error| failure(&server, &error))?;
    report::say(&format!("{name} answers.\n"))
}

async fn all(opened: OpenedServers) -> Result<bool, Failure> {
    let servers = Servers::new(opened.servers.clone(), opened.place.clone());
    let mut works = true;
    for server in servers.all() {
        match describe::offered(&servers, &server).await {
            Ok(text) => report::say(&text)?,
            Err(error) => {
                works = false;
                let failure = failure(&server, &error);
                report::say(&format!("{}: {}\n    {}\n", server.name, failure.message(), failure.hint))?;
            }
        }
    }
    for problem in &opened.problems {
        report::say(&format!("note: {problem}\n"))?;
    }
    if opened.servers.is_empty() {
        report::say("No MCP servers are configured; `mycode mcp add` adds one.\n")?;
    }
    Ok(works)
}

fn failure(server: &Server, error: &McpError) -> Failure {
    Failure::task(error, describe::hint(server, error))
}

fn caller() -> Caller {
    let progress = |line: String| {
        let _ = writeln!(std::io::stderr(), "{}", clean(&line));
    };
    Caller { progress: Arc::new(progress), asker: Some(Arc::new(Defaults)) }
}

/// Answers a server's questions with the server's own defaults.
struct Defaults;

impl Asker for Defaults {
    fn ask(&self, questions: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>> {
        Box::pin(std::future::ready(Some(vec![String::new(); questions.len()])))
    }
}
