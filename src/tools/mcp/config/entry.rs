//! A server as written in configuration files. One type reads every agent's format, because their keys don't
//! conflict. We write Claude Code's format, plus `sandbox`. Sources, November 2026:
//! code.claude.com/docs/en/mcp, `codex-rs/config/src/mcp_types.rs`, opencode.ai/docs/mcp-servers (and `v2`),
//! `docs/tools/mcp-server.md` of google-gemini/gemini-cli.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::server::{self, Server, Transport, words};
use base::file;
use base::format::settings_file;

/// The type name that Claude's SDKs use for a server within the host program.
const OF_HOST: &str = "sdk";
/// Limited because server names are part of tool names.
const MAX_NAME_CHARS: usize = 64;
const SSE: &str = "sse";
/// Files with editor variables (code.visualstudio.com, MCP configuration reference; cursor.com/docs/mcp).
const OF_EDITORS: [&str; 2] = [".vscode/mcp.json", ".cursor/mcp.json"];
const WITH_OTHER_VARIABLES: [&str; 3] = ["opencode.json", "opencode.jsonc", ".gemini/settings.json"];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "words", serialize_with = "one_word", skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(alias = "environment", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(alias = "env_vars", skip_serializing)]
    env_vars: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(alias = "httpUrl", alias = "serverUrl", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(alias = "http_headers", skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(alias = "env_http_headers", skip_serializing)]
    env_http_headers: BTreeMap<String, String>,
    #[serde(alias = "bearer_token_env_var", skip_serializing)]
    bearer_token_env_var: Option<String>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub oauth: Value,
    /// Codex puts scopes next to `oauth`.
    #[serde(deserialize_with = "words", skip_serializing)]
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing)]
    enabled: Option<bool>,
    #[serde(alias = "enabled_tools", skip_serializing_if = "Option::is_none")]
    pub include_tools: Option<Vec<String>>,
    #[serde(alias = "disabled_tools", alias = "disabledTools", skip_serializing_if = "Vec::is_empty")]
    pub exclude_tools: Vec<String>,
    /// Milliseconds that a call may take without a sign of life.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub timeout: Value,
    #[serde(alias = "tool_timeout_sec", skip_serializing)]
    tool_timeout_sec: Option<f64>,
    /// Milliseconds until the server must be ready.
    #[serde(alias = "startup_timeout_ms", skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<u64>,
    #[serde(alias = "startup_timeout_sec", skip_serializing)]
    startup_timeout_sec: Option<f64>,
    /// A profile, or `false`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub sandbox: Value,
}

fn one_word<S: serde::Serializer>(words: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(words.first().map_or("", String::as_str))
}

impl Entry {
    /// Reads a file's value, converting it to the format that we write.
    pub fn read(value: &Value) -> Result<Self, String> {
        let command = value["command"].as_str().map(str::to_owned);
        let mut entry: Self = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        // A single string is the program's path, even with spaces.
        let mut command = command.map_or_else(|| std::mem::take(&mut entry.command), |whole| vec![whole]);
        if command.len() > 1 {
            entry.args.splice(..0, command.drain(1..));
        }
        entry.command = command;
        for name in entry.env_vars.drain(..) {
            if let Some(name) = name.as_str().or_else(|| name["name"].as_str()) {
                entry.env.insert(name.to_owned(), format!("${{{name}:-}}"));
            }
        }
        for (header, name) in std::mem::take(&mut entry.env_http_headers) {
            entry.headers.insert(header, format!("${{{name}}}"));
        }
        if let Some(name) = entry.bearer_token_env_var.take() {
            entry.headers.insert("Authorization".to_owned(), format!("Bearer ${{{name}}}"));
        }
        // opencode v2 has both timeouts in one object.
        if let Some(both) = entry.timeout.as_object().cloned() {
            entry.timeout = both.get("request").cloned().unwrap_or_default();
            entry.startup_timeout = both.get("startup").and_then(Value::as_u64).or(entry.startup_timeout);
        }
        if let Some(seconds) = entry.tool_timeout_sec.take() {
            entry.timeout = milliseconds(seconds).into();
        }
        entry.startup_timeout = entry.startup_timeout_sec.take().map(milliseconds).or(entry.startup_timeout);
        if !entry.scopes.is_empty() {
            let mut oauth = entry.oauth.as_object().cloned().unwrap_or_default();
            oauth.insert("scopes".to_owned(), std::mem::take(&mut entry.scopes).into());
            entry.oauth = oauth.into();
        }
        if entry.enabled.take() == Some(false) {
            entry.disabled = Some(true);
        }
        entry.kind = match (entry.command.is_empty(), &entry.url) {
            (true, None) if entry.kind.as_deref() == Some(OF_HOST) => entry.kind,
            (false, _) => Some("stdio".to_owned()),
            (true, Some(_)) => Some(if value["type"] == SSE { SSE } else { "http" }.to_owned()),
            (true, None) => return Err("it has neither `command` nor `url`".to_owned()),
        };
        Ok(entry)
    }

    /// Converts other agents' variable syntax to ours, if `theirs`.
    #[must_use]
    pub fn with_variables_in_our_form(mut self, theirs: bool) -> Self {
        let texts = self.command.iter_mut().chain(&mut self.args).chain(self.env.values_mut());
        let texts = texts.chain(self.headers.values_mut()).chain(&mut self.url).chain(&mut self.cwd);
        for text in texts.filter(|_| theirs) {
            *text = server::in_our_form(text);
        }
        self
    }

    /// A server configured for the older transport may support the current one as well.
    #[must_use]
    pub fn over_http(mut self) -> Self {
        self.kind = self.kind.map(|kind| if kind == SSE { "http".to_owned() } else { kind });
        self
    }

    pub fn server(self, name: &str, origin: &Path) -> Result<Server, String> {
        check_name(name)?;
        if self.kind.as_deref() == Some(SSE) {
            return Err(
                "it uses SSE, an outdated transport. Set \"type\": \"http\" and its address for streamable \
                        HTTP, often /mcp in place of /sse"
                    .to_owned(),
            );
        }
        let mut written = serde_json::to_string(&self).unwrap_or_default();
        if self.kind.as_deref() == Some(OF_HOST) {
            written.push_str(name);
        }
        let hash = file::hash(written.as_bytes());
        let transport = match (self.command.into_iter().next(), self.url) {
            (None, None) => Transport::Host,
            (Some(command), _) => Transport::Stdio {
                command,
                args: self.args,
                env: self.env.into_iter().collect(),
                cwd: self.cwd,
                profile: unless_off("sandbox", self.sandbox)?,
            },
            (None, url) => Transport::Http {
                url: checked(url.unwrap_or_default())?,
                headers: self.headers.into_iter().collect(),
                oauth: unless_off("oauth", self.oauth)?,
            },
        };
        let mut server = Server::new(name.to_owned(), origin.to_owned(), transport, hash);
        (server.tools, server.without_tools) = (self.include_tools, self.exclude_tools);
        server.call_timeout = self.timeout.as_u64().map_or(server.call_timeout, Duration::from_millis);
        server.start_timeout = self.startup_timeout.map_or(server.start_timeout, Duration::from_millis);
        server.enabled = !self.disabled.unwrap_or(false);
        Ok(server)
    }
}

/// `false` means none; missing or `true` means the default.
fn unless_off<T: Default + DeserializeOwned>(key: &str, value: Value) -> Result<Option<T>, String> {
    match value {
        Value::Bool(false) => Ok(None),
        Value::Null | Value::Bool(true) => Ok(Some(T::default())),
        value => serde_json::from_value(value).map(Some).map_err(|error| format!("`{key}`: {error}")),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0) as u64
}

fn checked(url: String) -> Result<String, String> {
    match reqwest::Url::parse(&url) {
        _ if url.contains("${") => Ok(url),
        Ok(known) if matches!(known.scheme(), "http" | "https") => Ok(url),
        Ok(known) if matches!(known.scheme(), "ws" | "wss") => Err(format!(
            "{url} is a WebSocket, which MCP doesn't define; use the server's http or https address"
        )),
        Ok(_) => Err(format!("`url` is not http or https: {url}")),
        Err(error) => Err(format!("`url` {url}: {error}")),
    }
}

pub fn check_name(name: &str) -> Result<(), String> {
    let plain =
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '/' | '@' | ':'));
    if plain && !name.trim().is_empty() && name.chars().count() <= MAX_NAME_CHARS {
        return Ok(());
    }
    Err(format!("a server's name has letters, digits, '-' and '_', and at most {MAX_NAME_CHARS} of them"))
}

pub fn servers_of(config: &Value) -> Option<&Map<String, Value>> {
    let within = |key: &str| config.get(key).and_then(Value::as_object);
    let of_opencode = within("mcp");
    // v2 nests them one level deeper.
    let deeper = of_opencode.and_then(|mcp| mcp.get("servers")?.as_object());
    let deeper = deeper.filter(|all| !all.contains_key("type"));
    within("mcpServers").or(within("mcp_servers")).or(deeper).or(of_opencode).or(within("servers"))
}

/// The servers in one file, and what is wrong with invalid ones.
pub fn read_file(path: &Path, text: &str) -> (Vec<Server>, Vec<String>) {
    let refused = |what: String| (Vec::new(), vec![format!("{}: {what}", path.display())]);
    let of_editor = OF_EDITORS.iter().any(|name| path.ends_with(name));
    let others_variables = WITH_OTHER_VARIABLES.iter().any(|name| path.ends_with(name));
    let text = match of_editor {
        true => text
            .replace("${workspaceFolder}", "${CLAUDE_PROJECT_DIR}")
            .replace("${userHome}", "${HOME}")
            .replace("${env:", "${"),
        false => text.to_owned(),
    };
    let config = match settings_file::parse(path, &text) {
        Ok(config) => config,
        Err(error) => return refused(format!("not valid: {error}")),
    };
    let Some(entries) = servers_of(&config) else {
        return refused(
            "it has no object \"mcpServers\" (in VS Code's file \"servers\") with servers by name".to_owned(),
        );
    };
    let (mut servers, mut problems) = (Vec::new(), Vec::new());
    for (name, entry) in entries {
        let read = match entry.to_string().contains("${input:") {
            true => Err("VS Code asks for its ${input:…}; name a ${VARIABLE} instead".to_owned()),
            false => Entry::read(entry)
                .and_then(|read| read.with_variables_in_our_form(others_variables).server(name, path)),
        };
        match read {
            Ok(server) => servers.push(server),
            Err(what) => problems.push(format!("{}: server '{name}' is ignored: {what}", path.display())),
        }
    }
    (servers, problems)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::config::server::ServerProfile;

    fn written(value: Value) -> Value {
        serde_json::to_value(Entry::read(&value).unwrap().with_variables_in_our_form(true)).unwrap()
    }

    #[test]
    fn forms_of_other_agents() {
        let codex = json!({"command": "npx", "args": ["-y", "x"], "env_vars": ["HOME", {"name": "KEY"}],
            "startup_timeout_sec": 2.5, "tool_timeout_sec": 9, "enabled": false, "enabled_tools": ["a"]});
        assert_eq!(
            written(codex),
            json!({"type": "stdio", "command": "npx", "args": ["-y", "x"],
                "env": {"HOME": "${HOME:-}", "KEY": "${KEY:-}"}, "disabled": true, "includeTools": ["a"],
                "timeout": 9000, "startupTimeout": 2500})
        );
        let codex = json!({"url": "https://a/mcp", "bearer_token_env_var": "T", "http_headers": {"X": "1"},
            "env_http_headers": {"Y": "Z"}, "scopes": ["read"]});
        assert_eq!(
            written(codex),
            json!({"type": "http", "url": "https://a/mcp", "oauth": {"scopes": ["read"]},
                "headers": {"Authorization": "Bearer ${T}", "X": "1", "Y": "${Z}"}})
        );
        let opencode =
            json!({"type": "local", "command": ["bun", "x", "y"], "environment": {"K": "{env:V}"}});
        assert_eq!(
            written(opencode),
            json!({"type": "stdio", "command": "bun", "args": ["x", "y"], "env": {"K": "${V}"}})
        );
        let gemini = json!({"httpUrl": "https://a", "headers": {"K": "$V"}, "timeout": 5, "trust": true});
        assert_eq!(
            written(gemini),
            json!({"type": "http", "url": "https://a", "headers": {"K": "${V}"}, "timeout": 5})
        );
    }

    #[test]
    fn servers_and_problems_of_a_file() {
        let text = json!({"mcpServers": {
            "ok": {"command": "/a b/c", "sandbox": {"network": false}},
            "free": {"command": "c", "sandbox": false},
            "bad": {"args": []}, "no\nname": {"command": "c"},
            "asks": {"url": "https://a/mcp", "headers": {"Authorization": "Basic ${input:key}"}},
        }});
        let (servers, problems) = read_file(Path::new("/f"), &text.to_string());
        assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["ok", "free"]);
        let profile = |at: usize| match &servers[at].transport {
            Transport::Stdio { profile, .. } => profile.clone(),
            _ => panic!("stdio"),
        };
        assert_eq!(profile(0), Some(ServerProfile { network: false, folders: Vec::new() }));
        assert_eq!((profile(1), servers[0].shown()), (None, "/a b/c".to_owned()));
        let said = [
            "'bad' is ignored: it has neither",
            "is ignored: a server's name",
            "'asks' is ignored: VS Code asks",
        ];
        assert_eq!(problems.len(), said.len(), "{problems:?}");
        assert!(said.iter().zip(&problems).all(|(said, told)| told.contains(said)), "{problems:?}");
    }

    #[test]
    fn where_servers_stand() {
        assert!(servers_of(&json!({"mcp": {"servers": {"a": {}}}})).unwrap().contains_key("a"));
        let v1 = json!({"mcp": {"servers": {"type": "local"}}});
        assert!(servers_of(&v1).unwrap().contains_key("servers"));
        assert!(servers_of(&json!({"mcp_servers": {"a": {}}})).is_some());
    }
}
