//! The validated sections of the configuration, each handed only to the part that needs it.
//! Knows nothing of files, flags or environment variables (see `load`).

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::secret::Secret;

/// Which dialect a model server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI Chat Completions, and every server that imitates it.
    Openai,
    /// Anthropic Messages.
    Anthropic,
    /// Answers read from a JSONL file; no network.
    Scripted,
}

/// How to reach the model.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    /// Without a trailing slash, such as `https://api.openai.com/v1`.
    pub base_url: String,
    pub api_key: Option<Secret>,
    pub model: Arc<str>,
    /// The script of the scripted provider.
    pub script: Option<PathBuf>,
    /// Extra request headers.
    pub headers: Vec<(String, String)>,
    /// Give up on an answer when nothing arrived for so long, in seconds.
    pub idle_timeout_s: u64,
    /// Tries per request, the first included.
    pub max_tries: u32,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub reasoning_effort: Option<Arc<str>>,
}

/// What may happen without a question (SPEC §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    ReadOnly,
    Ask,
    Auto,
    Full,
}

impl Permission {
    /// The name used in flags, files and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::Full => "full",
        }
    }
}

impl FromStr for Permission {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "read-only" => Ok(Self::ReadOnly),
            "ask" => Ok(Self::Ask),
            "auto" => Ok(Self::Auto),
            "full" => Ok(Self::Full),
            other => Err(format!("'{other}' is no permission level; use read-only, ask, auto or full")),
        }
    }
}
