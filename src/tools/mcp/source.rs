//! The servers' tools, named `server.tool`: listed as learned last time, called on demand.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::catalog::{self, Catalog};
use super::client::error::McpError;
use super::client::handler::Caller;
use super::result;
use super::servers::Servers;
use crate::api::{Prepared, Preview, Specs, ToolError, ToolOutcome, ToolSource, in_filling_order};
use crate::cx::ToolCx;
use base::model::call::ToolSpec;
use base::model::envelope::ErrorCode;
use base::process::task;
use base::search::fuzzy;
use base::text::elide;
use guard::policy::access::Access;

pub struct McpSource(pub Arc<Servers>);

impl McpSource {
    /// Splits `server.tool`, or other agents' `mcp__server__tool`; the tool may be missing.
    fn split<'a>(&self, name: &'a str) -> Option<(String, Option<&'a str>)> {
        let bare = name.strip_prefix("mcp__").or_else(|| name.strip_prefix("mcp_")).unwrap_or(name);
        // Longest first, because one name may be a prefix of another.
        let mut servers = self.0.all();
        servers.sort_by_key(|server| std::cmp::Reverse(server.name.len()));
        servers.into_iter().find_map(|server| {
            let server = &server.name;
            // Claude Code calls the servers of a plugin `plugin_PLUGIN_SERVER`.
            let of_plugin = || Some(&bare[bare.find(&format!("_{server}__"))? + 1 + server.len()..]);
            let rest = bare.strip_prefix(&**server);
            let rest = rest.or_else(|| of_plugin().filter(|_| bare.starts_with("plugin_")))?;
            let tool = [".", "__", "/", "_"].iter().find_map(|mark| rest.strip_prefix(mark));
            match tool {
                Some(tool) if !tool.is_empty() && tool != "*" => Some((server.clone(), Some(tool))),
                _ if rest.is_empty() || tool.is_some() => Some((server.clone(), None)),
                _ => None,
            }
        })
    }

    fn reads(&self, server: &str, tool: &str) -> bool {
        self.0.known(server).tools.iter().any(|known| known.name == tool && known.reads)
    }
}

impl ToolSource for McpSource {
    fn listed(&self) -> Vec<String> {
        self.0.listed()
    }

    fn takes(&self, name: &str) -> bool {
        self.split(name).is_some()
    }

    fn specs<'a>(&'a self, name: Option<&'a str>, _: &'a ToolCx) -> Specs<'a> {
        Box::pin(async move {
            if let Some((server, tool)) = name.and_then(|name| self.split(name)) {
                let catalog = self.0.catalog(&server).await.map_err(|error| failed(&server, &error))?;
                return match tool {
                    Some(tool) => Ok(vec![spec(&server, find(&catalog, &server, tool)?)]),
                    None => Ok(catalog.tools.iter().map(|tool| spec(&server, tool)).collect()),
                };
            }
            let asked = self.0.all().into_iter().map(async |server| {
                let catalog = self.0.catalog(&server.name).await;
                catalog.map_err(|error| failed(&server.name, &error)).map(|catalog| (server, catalog))
            });
            let (mut specs, mut last) = (Vec::new(), None);
            for answer in join_all(asked).await {
                match answer {
                    Ok((server, catalog)) => {
                        specs.extend(catalog.tools.iter().map(|tool| spec(&server.name, tool)));
                    }
                    Err(error) => last = Some(error),
                }
            }
            last.filter(|_| specs.is_empty()).map_or(Ok(specs), Err)
        })
    }

    fn parallel(&self, name: &str, _: &Value) -> bool {
        matches!(self.split(name), Some((server, Some(tool))) if self.reads(&server, tool))
    }

    fn prepare(&self, name: &str, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        let Some((server, Some(tool))) = self.split(name) else {
            return Err(ToolError::invalid(format!(
                "{name} isn't a tool; MoreTools with its name alone lists its tools"
            )));
        };
        let args = match args {
            Value::Object(args) => args,
            Value::Null => Map::new(),
            _ => return Err(ToolError::invalid(format!("the arguments of {name} must be a JSON object"))),
        };
        Ok(Box::new(RemoteCall { servers: Arc::clone(&self.0), server, tool: tool.to_owned(), args }))
    }
}

fn spec(server: &str, tool: &Tool) -> ToolSpec {
    ToolSpec {
        name: format!("{server}.{}", tool.name).into(),
        description: tool.description.as_deref().unwrap_or_default().trim().into(),
        schema: in_filling_order(Value::Object((*tool.input_schema).clone())),
    }
}

/// Models don't always spell a name exactly as the server does.
fn find<'a>(catalog: &'a Catalog, server: &str, name: &str) -> Result<&'a Tool, ToolError> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', '.'], "");
    let exact = catalog.tools.iter().find(|tool| tool.name == name);
    let mut alike = catalog.tools.iter().filter(|tool| plain(&tool.name) == plain(name));
    exact.or_else(|| alike.next().filter(|_| alike.next().is_none())).ok_or_else(|| {
        let names: Vec<&str> = catalog.tools.iter().map(|tool| &*tool.name).collect();
        let hint = fuzzy::nearest_name(name, names.iter().copied())
            .map_or(String::new(), |near| format!(" Did you mean {near}?"));
        ToolError::invalid(format!("{server} has no tool {name}.{hint} It has: {}", names.join(", ")))
    })
}

fn failed(server: &str, error: &McpError) -> ToolError {
    let (code, advice) = match error {
        McpError::Cancelled => {
            let message = "the user interrupted this call; the server may have done a part of it";
            return ToolError::model(ErrorCode::Interrupted, message);
        }
        McpError::Off => (ErrorCode::InvalidParam, "; continue without it".to_owned()),
        // Servers also answer this when their own request fails.
        McpError::Refused(_) => (ErrorCode::ExecutionError, String::new()),
        McpError::Timeout(..) | McpError::Hung(..) => (ErrorCode::Timeout, String::new()),
        McpError::SignIn { .. } => {
            (ErrorCode::AccessDenied, format!(". The user can sign in with `mycode mcp login {server}`"))
        }
        McpError::Start(_) | McpError::Lost(_) | McpError::Invalid => (
            ErrorCode::ExecutionError,
            format!(". The user can look into it with `mycode mcp test {server}`"),
        ),
    };
    ToolError::model(code, format!("MCP server {server}: {error}{advice}"))
}

struct RemoteCall {
    servers: Arc<Servers>,
    server: String,
    tool: String,
    args: Map<String, Value>,
}

impl RemoteCall {
    async fn call(&self, cx: &ToolCx) -> ToolOutcome {
        let error = |error: McpError| failed(&self.server, &error);
        let catalog = self.servers.catalog(&self.server).await.map_err(error)?;
        let tool = find(&catalog, &self.server, &self.tool)?;
        let ours = catalog.is_ours(tool);
        let called = self.servers.with(&self.server, |connection| async move {
            let caller = Caller { progress: Arc::clone(&cx.progress), asker: cx.asker.clone() };
            connection.call(tool, ours, self.args.clone(), caller, &cx.cancel).await
        });
        let result = called.await.map_err(error)?;
        let (title, cx) = (format!("{}.{}", self.server, tool.name), cx.clone());
        task::blocking(move || result::envelope(result, &title, &cx)).await.map_err(|error| {
            ToolError::model(ErrorCode::InternalError, format!("the result cannot be shown: {error}"))
        })
    }
}

impl Prepared for RemoteCall {
    fn title(&self) -> String {
        let args =
            if self.args.is_empty() { String::new() } else { Value::from(self.args.clone()).to_string() };
        format!("{}.{} {}", self.server, self.tool, elide(&args, 100)).trim_end().to_owned()
    }

    fn access<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Vec<Access>, ToolError>> {
        Box::pin(async {
            let catalog = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Err(ToolError::interrupted()),
                catalog = self.servers.catalog(&self.server) => catalog,
            };
            let catalog = catalog.map_err(|error| failed(&self.server, &error))?;
            let tool = find(&catalog, &self.server, &self.tool)?;
            let (server, name) = (self.server.clone(), tool.name.to_string());
            Ok(vec![Access::Remote { server, tool: name, reads: catalog::reads(tool) }])
        })
    }

    fn preview<'a>(&'a self, _: &'a ToolCx) -> BoxFuture<'a, Preview> {
        let args = serde_json::to_string_pretty(&self.args).unwrap_or_default();
        Box::pin(async move { Preview::Text(format!("{}.{}\n{args}", self.server, self.tool)) })
    }

    fn run<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(self.call(cx))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::mcp::catalog::{Learned, LearnedServer, LearnedTool};
    use crate::mcp::client::connector::ServerPlace;
    use crate::mcp::config::entry;
    use guard::sandbox::session::Sandbox;

    #[test]
    fn names_and_what_is_told_in_advance() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"mcpServers": {"git": {"command": "a"}, "git.hub": {"command": "b"}, "off": {"command": "c", "disabled": true}}}"#;
        let (servers, _) = entry::read_file(std::path::Path::new("/f"), text);
        let tool = |name: &str, reads| LearnedTool { name: name.to_owned(), reads };
        let many: Vec<LearnedTool> = std::iter::once(tool("read_it", true))
            .chain((0..40).map(|at| tool(&format!("tool_{at}"), false)))
            .collect();
        Learned::new(dir.path())
            .write(&servers[0].hash, &LearnedServer { tools: many, prompts: Vec::new() })
            .unwrap();
        let place = ServerPlace {
            host: None,
            root: dir.path().to_owned(),
            sandbox: Arc::new(Sandbox::new(dir.path().to_owned(), Vec::new(), Vec::new())),
            state: dir.path().to_owned(),
            show: None,
        };
        let source = McpSource(Arc::new(Servers::new(servers, place)));
        let listed = source.listed();
        assert!(listed[0].starts_with("git.{read_it, tool_0, ") && listed[0].len() < 200, "{listed:?}");
        assert!(listed[0].contains(", +") && listed[1..] == ["git.hub.* (MCP)"], "{listed:?}");
        let split = |name: &'static str| source.split(name);
        assert_eq!(split("git.hub.x"), Some(("git.hub".into(), Some("x"))));
        assert_eq!(split("mcp__git__x"), Some(("git".into(), Some("x"))));
        assert_eq!(split("mcp__plugin_tools_git__x"), Some(("git".into(), Some("x"))));
        assert_eq!((split("git"), split("git.*")), (Some(("git".into(), None)), Some(("git".into(), None))));
        assert_eq!((split("github.x"), split("off.x")), (None, None));
        let refused = failed("git", &McpError::Refused("getaddrinfo ENOTFOUND".into())).to_string();
        assert!(refused.contains("EXECUTION_ERROR"), "{refused}");
        assert!(source.parallel("git.read_it", &Value::Null) && !source.parallel("git.tool_0", &Value::Null));
    }
}
