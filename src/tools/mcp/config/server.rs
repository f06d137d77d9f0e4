//! One configured server, ready to use: plain data, with `${VARIABLE}` and `${VARIABLE:-default}` as in Claude Code's
//! `.mcp.json`.

use std::path::PathBuf;
use std::time::Duration;

use regex::Captures;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use base::pattern::Pattern;

static REFERENCE: Pattern = Pattern::new(r"\$\{([A-Za-z0-9_]+)(?::-([^}]*))?\}");
static GEMINI: Pattern = Pattern::new(r"\$([A-Za-z_][A-Za-z0-9_]*)");

#[derive(Clone, Debug)]
pub struct Server {
    pub name: String,
    pub origin: PathBuf,
    pub transport: Transport,
    pub start_timeout: Duration,
    /// Counted from a call's last sign of life.
    pub call_timeout: Duration,
    pub enabled: bool,
    pub tools: Option<Vec<String>>,
    pub without_tools: Vec<String>,
    pub hash: String,
}

/// Strings may contain `${VARIABLE}`s, which are expanded when connecting.
#[derive(Clone, Debug)]
pub enum Transport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
        profile: Option<ServerProfile>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
        oauth: Option<OAuth>,
    },
    Host,
}

/// What a sandboxed server may do in addition to reading and changing the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerProfile {
    pub network: bool,
    pub folders: Vec<PathBuf>,
}

impl Default for ServerProfile {
    /// Most servers use a network service, and `npx` and `uvx` download them.
    fn default() -> Self {
        Self { network: true, folders: Vec::new() }
    }
}

/// How to sign in to a server; missing values are discovered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth {
    #[serde(alias = "client_id", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(alias = "client_secret", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// URL of a document that describes this client, for servers that accept it as the client id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    #[serde(alias = "scope", deserialize_with = "words", skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
    /// `client_credentials`: sign in without a user, with the id and the secret or key.
    #[serde(alias = "grant_type", skip_serializing_if = "Option::is_none")]
    pub grant_type: Option<String>,
    #[serde(alias = "private_key_file", skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<String>,
}

/// A string of space-separated words, or a list.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(all) => all.into_iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    })
}

impl Server {
    /// A server at this address that isn't in any file.
    pub fn at(url: &str, headers: Vec<(String, String)>, oauth: OAuth) -> Self {
        let transport = Transport::Http { url: url.to_owned(), headers, oauth: Some(oauth) };
        Self::new(url.to_owned(), PathBuf::new(), transport, String::new())
    }

    pub fn new(name: String, origin: PathBuf, transport: Transport, hash: String) -> Self {
        Self {
            name,
            origin,
            transport,
            start_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(120),
            enabled: true,
            tools: None,
            without_tools: Vec::new(),
            hash,
        }
    }

    pub fn offers(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        self.tools.as_deref().is_none_or(named) && !named(&self.without_tools)
    }

    pub fn shown(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                [std::slice::from_ref(command), args].concat().join(" ")
            }
            Transport::Http { url, .. } => url.clone(),
            Transport::Host => "the program that started mycode".to_owned(),
        }
    }
}

/// The error is the name of a variable without a value.
pub fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut missing = None;
    let expanded = REFERENCE.replace_all(text, |found: &Captures| {
        let default = found.get(2).map(|default| default.as_str().to_owned());
        value(&found[1]).or(default).unwrap_or_else(|| {
            missing.get_or_insert_with(|| found[1].to_owned());
            String::new()
        })
    });
    let expanded = expanded.into_owned();
    missing.map_or(Ok(expanded), Err)
}

/// Converts opencode's `{env:NAME}` and Gemini CLI's `$NAME`.
pub fn in_our_form(text: &str) -> String {
    GEMINI.replace_all(&text.replace("{env:", "${"), "$${${1}}").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_defaults() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        let expand = |text: &str| expand(text, &value);
        assert_eq!(expand("x${A}y${B:-2}z$A ${no name} ${"), Ok("x1y2z$A ${no name} ${".into()));
        assert_eq!(expand("${B}"), Err("B".into()));
        assert_eq!(expand("${A:-2}${B:-}"), Ok("1".into()));
    }

    #[test]
    fn other_agents_variables() {
        assert_eq!(in_our_form("Bearer {env:KEY}"), "Bearer ${KEY}");
        assert_eq!(in_our_form("$KEY/${KEY}/$5/a$"), "${KEY}/${KEY}/$5/a$");
    }
}
