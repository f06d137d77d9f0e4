//! The validated sections of the configuration, each handed only to the part that needs it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::keys::KeyBinding;
use super::mode::Mode;
use super::theme::ThemeName;
use crate::secret::Secret;

/// Which dialect a model server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI and every server that imitates it; the model table says whether Responses or Chat Completions.
    Openai,
    /// Chat Completions, whatever the model.
    Chat,
    /// Responses, whatever the model.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Answers read from a JSONL file; no network.
    Scripted,
}

impl ProviderKind {
    /// The name used in flags, files and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Scripted => "scripted",
        }
    }
}

impl FromStr for ProviderKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kinds = [Self::Openai, Self::Chat, Self::Responses, Self::Anthropic, Self::Scripted];
        let found = kinds.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            format!("'{text}' is not a provider (openai, chat, responses, anthropic, scripted)")
        })
    }
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
    /// Give up on an answer that is not finished after so long, in seconds.
    pub answer_timeout_s: u64,
    /// Tries per request, the first included.
    pub max_tries: u32,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub reasoning_effort: Option<Arc<str>>,
    /// How much a model of OpenAI's says: low, medium, high.
    pub verbosity: Option<Arc<str>>,
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

    /// The level that holds in a mode: most modes only read.
    pub fn in_mode(self, mode: Mode) -> Self {
        if mode.only_reads() { Self::ReadOnly } else { self }
    }
}

impl FromStr for Permission {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let levels = [Self::ReadOnly, Self::Ask, Self::Auto, Self::Full];
        let found = levels.into_iter().find(|level| level.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a permission level (read-only, ask, auto, full)"))
    }
}

/// How much of the past stays word for word (CONTEXT.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Eco,
    #[default]
    Default,
    High,
}

/// Where a value came from; shown by `/context` and `mycode doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A flag, variable or file of the user.
    User,
    /// The model table.
    Table,
    /// The server said so.
    Server,
    /// The server refused a request as longer.
    Error,
    Default,
}

impl Origin {
    /// The word shown on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Table => "table",
            Self::Server => "server",
            Self::Error => "error",
            Self::Default => "default",
        }
    }
}

/// What becomes of reasoning when something before it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// It stays good.
    #[default]
    None,
    /// It is of no use any more.
    Drops,
    /// The server rejects the request.
    Rejects,
}

impl FromStr for Binding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "drops" => Ok(Self::Drops),
            "rejects" => Ok(Self::Rejects),
            other => Err(format!("'{other}' is not a binding (none, drops, rejects)")),
        }
    }
}

/// How the window is used (SPEC §2).
#[derive(Clone, Debug, PartialEq)]
pub struct ContextSettings {
    /// Size of the window, in tokens.
    pub window_tokens: u64,
    pub window_origin: Origin,
    /// Tokens kept free for the answer.
    pub output_reserve_tokens: u64,
    /// Share of the window at which compaction starts; 0–1. In small ones too: at the half of SPEC §2 they are rewritten at
    /// every other request.
    pub compression_threshold: f64,
    /// Share of the window under which compaction must land; 0–1.
    pub low_water: f64,
    /// Recent rounds that compaction leaves whole.
    pub min_retain_rounds: usize,
    pub summary_timeout_s: u64,
    pub profile: Profile,
    /// Price of a cached input token as a share of an uncached one; 0–1.
    pub cached_price: f64,
    /// Price of a token that is written into the cache, as a share of an uncached one.
    pub write_price: f64,
    /// How long the prompt cache lives, in milliseconds.
    pub cache_ms: u64,
    /// A prompt of more tokens costs a multiple: the past is rewritten before it gets there.
    pub tier_tokens: Option<u64>,
    /// What becomes of reasoning when something before it changes.
    pub binding: Binding,
    /// Tokens that a reply may have, where the server wants to be told.
    pub reply_tokens: Option<u32>,
    /// Tokens of this model per estimated one, until its server has reported some.
    pub token_ratio: f64,
}

impl ContextSettings {
    /// Settings for a window of `window_tokens`, with the small-window defaults where they apply.
    pub fn for_window(window_tokens: u64, window_origin: Origin) -> Self {
        let small = window_tokens < SMALL_WINDOW_TOKENS;
        Self {
            window_tokens,
            window_origin,
            output_reserve_tokens: (window_tokens / 8).clamp(512, 16_000),
            compression_threshold: 0.8,
            low_water: if small { 0.4 } else { 0.5 },
            min_retain_rounds: if small { 3 } else { 10 },
            summary_timeout_s: 120,
            profile: Profile::Default,
            cached_price: 0.1,
            write_price: 1.0,
            cache_ms: 300_000,
            tier_tokens: None,
            binding: Binding::None,
            reply_tokens: None,
            token_ratio: 1.0,
        }
    }

    /// What a request may take at most: the window without what an answer needs at least.
    pub fn room_tokens(&self) -> u64 {
        self.window_tokens - self.output_reserve_tokens.min(self.window_tokens / 8)
    }
}

/// Windows under this size are told of the tools in fewer words, too.
pub const TINY_WINDOW_TOKENS: u64 = 16_000;

/// Windows under this size get tighter defaults (SPEC §2).
pub const SMALL_WINDOW_TOKENS: u64 = 32_000;

/// The smallest window the product promises to work in, in tokens.
pub const MIN_WINDOW_TOKENS: u64 = 4_096;

/// No model has more; a larger figure is a slip, or a server's word for "unlimited".
pub const MAX_WINDOW_TOKENS: u64 = 100_000_000;

/// How a user who looks elsewhere is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// The bell, and a notification where the terminal has them.
    #[default]
    Auto,
    Bell,
    Off,
}

/// How the screen looks, takes keys, and calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenSettings {
    /// The user's own keys, in the order of the file.
    pub keys: Vec<KeyBinding>,
    /// The composer edits as vi does.
    pub vim: bool,
    pub notify: Notify,
    /// Which colors the chat is drawn in.
    pub theme: ThemeName,
    /// Where pasted pictures are put, and the text that is in the editor.
    pub folder: PathBuf,
    /// The user's configuration file, which keeps what is chosen on the screen.
    pub config: PathBuf,
}

/// What may be read of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSettings {
    /// Whether the model's server may search, which it charges for.
    pub search: bool,
    /// Hosts that pages are fetched from though their addresses are private.
    pub private_hosts: Vec<String>,
}

/// Who searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebSearch {
    Off,
    Provider,
}

/// How the agent works.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkSettings {
    pub permission: Permission,
    pub mode: Mode,
    /// Whether commands run in the sandbox where the level says so.
    pub sandbox: bool,
    /// Model replies per turn.
    pub max_steps: u32,
    /// How long a new task may wait for the files that it seems to be about; `None`: it is sent without them.
    pub task_context: Option<Duration>,
    /// Writes summaries instead of the main model.
    pub light_model: Option<Arc<str>>,
    /// Whether notes that belong to a new task are put behind its text.
    pub inject_notes: bool,
}
