//! One configured server, ready to be used. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    pub name: String,
    /// The file that defines it.
    pub origin: PathBuf,
    pub transport: Transport,
    pub start_timeout: Duration,
    /// Since the last sign of life of a call.
    pub call_timeout: Duration,
    pub enabled: bool,
    tools: Option<Vec<String>>,
    without_tools: Vec<String>,
    /// Of everything that decides what it offers.
    pub hash: String,
}

/// How it is reached. Texts may hold `${VARIABLE}`s, which are replaced when it is.
#[derive(Clone, Debug)]
pub enum Transport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
        /// `None`: not confined.
        profile: Option<Profile>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
        /// `None`: never signed in to.
        oauth: Option<OAuth>,
    },
}

/// What a confined server may do besides reading, and changing the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    pub network: bool,
    /// Folders that it may change.
    pub folders: Vec<PathBuf>,
}

impl Default for Profile {
    /// Most servers speak for a service on the network, and `npx` and `uvx` fetch them from there.
    fn default() -> Self {
        Self { network: true, folders: Vec::new() }
    }
}

/// How to sign in to a server; all of it is found out where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth {
    #[serde(alias = "client_id", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(alias = "client_secret", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The address of a document that describes this client, for servers that take it as its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    #[serde(alias = "scope", deserialize_with = "words", skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
    /// `client_credentials`: without a user, with the id and the secret or key.
    #[serde(alias = "grant_type", skip_serializing_if = "Option::is_none")]
    pub grant_type: Option<String>,
    /// A file with the private key (PEM) that this client signs with.
    #[serde(alias = "private_key_file", skip_serializing_if = "Option::is_none")]
    pub private_key_file: Option<String>,
    /// The enterprise's, which vouches for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<IdentityProvider>,
}

/// An identity provider that the user is signed in to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IdentityProvider {
    pub token_endpoint: String,
    pub client_id: String,
    pub id_token: String,
}

/// One text, words apart, or a list.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(all) => all.into_iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    })
}

impl Server {
    /// A server at this address, which no file names.
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

    /// Only these tools, where any are named, and none of those.
    #[must_use]
    pub fn with_tools(self, only: Option<Vec<String>>, without: Vec<String>) -> Self {
        Self { tools: only, without_tools: without, ..self }
    }

    /// Whether this tool of it may be used at all.
    pub fn offers(&self, tool: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == tool);
        self.tools.as_deref().is_none_or(named) && !named(&self.without_tools)
    }

    /// How it is reached, in one line for users.
    pub fn shown(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                [std::slice::from_ref(command), args].concat().join(" ")
            }
            Transport::Http { url, .. } => url.clone(),
        }
    }
}
