//! The validated sections of the configuration; each part of the program gets only its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::keys::KeyBinding;
use super::mode::Mode;
use super::theme::ThemeName;
use crate::secret::Secret;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(const_into_str, serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_provider)]
pub enum ProviderKind {
    /// OpenAI and compatible servers; the model table chooses the endpoint, which the next two variants fix.
    #[default]
    Openai,
    Chat,
    Responses,
    Anthropic,
    /// Answers from a JSONL file, without network.
    Scripted,
}

fn not_a_provider(text: &str) -> String {
    format!("'{text}' is not a provider (openai, chat, responses, anthropic, scripted)")
}

impl ProviderKind {
    pub fn same_vendor(self, other: Self) -> bool {
        let vendor = |kind| match kind {
            Self::Openai | Self::Chat | Self::Responses => Self::Openai,
            Self::Anthropic | Self::Scripted => kind,
        };
        vendor(self) == vendor(other)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCalls {
    /// In the dialect's format, or as text if the server refuses that.
    #[default]
    Auto,
    Text,
}

/// Provides a key when it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// The user's own command, which prints a key (`api_key_command`).
    Command(Arc<str>),
    /// A ChatGPT sign-in, stored in this file.
    Account(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    /// Without a trailing slash, such as `https://api.openai.com/v1`.
    pub base_url: String,
    pub api_key: Option<Secret>,
    /// Used instead of `api_key`.
    pub key_source: Option<KeySource>,
    /// The key is a token for the `authorization` header, even in Anthropic's dialect.
    pub bearer: bool,
    pub model: Arc<str>,
    /// Fallbacks if the account can't use the default model.
    pub next_models: Vec<Arc<str>>,
    pub script: Option<PathBuf>,
    pub headers: Vec<(String, String)>,
    /// Gives up on an answer after this time without data.
    pub idle_timeout_s: u64,
    /// Gives up on an unfinished answer after this time.
    pub answer_timeout_s: u64,
    /// Attempts per request, including the first.
    pub max_tries: u32,
    /// How long to wait out rate limits and outages; if unset, only rate limits, for a few minutes.
    pub wait_s: Option<u64>,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub reasoning_effort: Option<Arc<str>>,
    /// For OpenAI models: low, medium, high.
    pub verbosity: Option<Arc<str>>,
    pub tool_calls: ToolCalls,
    pub servers: Option<PathBuf>,
}

impl ProviderSettings {
    pub fn same_server(&self, other: &Self) -> bool {
        self.base_url == other.base_url && self.key_source == other.key_source
    }
}

/// Strictest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(const_into_str, serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_level)]
pub enum Permission {
    ReadOnly,
    Ask,
    /// Like `Ask`, but files in the workspace are edited without asking.
    AcceptEdits,
    Auto,
    Full,
}

fn not_a_level(text: &str) -> String {
    format!("'{text}' is not a permission level (read-only, ask, accept-edits, auto, full)")
}

impl Permission {
    /// The effective level in a mode, because most modes are read-only.
    pub fn in_mode(self, mode: Mode) -> Self {
        if mode.only_reads() { Self::ReadOnly } else { self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Eco,
    #[default]
    Default,
    High,
}

/// Where a value came from; shown by `/context` and `mycode doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Origin {
    User,
    Table,
    Server,
    /// Learned when the server refused a request as too long.
    Error,
    Session,
    Default,
}

/// What happens to reasoning if something before it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_binding)]
pub enum Binding {
    #[default]
    None,
    Drops,
    Rejects,
}

fn not_a_binding(text: &str) -> String {
    format!("'{text}' is not a binding (none, drops, rejects)")
}

#[derive(Clone, Debug, PartialEq)]
pub struct ContextSettings {
    pub window_tokens: u64,
    pub window_origin: Origin,
    pub output_reserve_tokens: u64,
    /// A share from 0 to 1. The same for small windows, which would otherwise be rewritten at every other request.
    pub compression_threshold: f64,
    /// Share of the window that compaction must get below, 0–1.
    pub low_water: f64,
    pub min_retain_rounds: usize,
    pub summary_timeout_s: u64,
    pub profile: Profile,
    /// Price of a cached input token relative to an uncached one, 0–1.
    pub cached_price: f64,
    pub write_price: f64,
    pub cache_ms: u64,
    /// Larger prompts cost a multiple, so the past is rewritten before this size.
    pub tier_tokens: Option<u64>,
    pub binding: Binding,
    /// Reply tokens to request if the server requires a number.
    pub reply_tokens: Option<u32>,
    /// Real tokens per estimated token, until the server reports some.
    pub token_ratio: f64,
}

impl ContextSettings {
    pub fn for_window(window_tokens: u64, window_origin: Origin) -> Self {
        let small = window_tokens < SMALL_WINDOW_TOKENS;
        Self {
            window_tokens,
            window_origin,
            output_reserve_tokens: (window_tokens / 12).clamp(512, 16_000),
            compression_threshold: 0.95,
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

    /// The largest request: the window minus the minimum for an answer.
    pub fn room_tokens(&self) -> u64 {
        self.window_tokens - self.output_reserve_tokens.min(self.window_tokens / 8)
    }
}

/// Windows below this also get shorter tool descriptions.
pub const TINY_WINDOW_TOKENS: u64 = 16_000;

pub const SMALL_WINDOW_TOKENS: u64 = 32_000;

pub const MIN_WINDOW_TOKENS: u64 = 4_096;

/// No model has more; a larger number is a typo, or a server's way of saying "unlimited".
pub const MAX_WINDOW_TOKENS: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// The bell, and a notification if the terminal supports it.
    #[default]
    Auto,
    Bell,
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenSettings {
    pub keys: Vec<KeyBinding>,
    pub vim: bool,
    pub mouse: bool,
    pub notify: Notify,
    pub theme: ThemeName,
    /// For pasted pictures and the text open in the editor.
    pub folder: PathBuf,
    /// The user's configuration file, which stores choices made on the screen.
    pub config: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSettings {
    /// Whether the model's server may search, which costs money.
    pub search: bool,
    /// Hosts that may be fetched despite private addresses.
    pub private_hosts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebSearchSetting {
    Off,
    Provider,
}

/// Limits for the notes sent with a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoteLimits {
    /// 0–1; open blockers are always relevant.
    pub min_relevance: f64,
    /// In a small window, at most a fortieth of it.
    pub max_tokens: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WorkSettings {
    /// Canonical folders outside the workspace whose files tools may read and change.
    pub folders: Vec<PathBuf>,
    pub permission: Permission,
    /// The highest level that the administrator allows.
    pub most_permission: Permission,
    pub mode: Mode,
    pub sandbox: bool,
    pub max_steps: u32,
    /// How long a new task may wait for the files it seems to concern; `None` doesn't look for them.
    pub task_context: Option<Duration>,
    pub light_model: Option<Arc<str>>,
    /// `None` sends no notes with a task.
    pub inject_notes: Option<NoteLimits>,
    /// Whether services that the model starts in `exec` may outlive it.
    pub keep_services: bool,
    /// Also offers `apply_patch` to GPT models.
    pub patch_tool: bool,
    /// Whether the program may send the model reminders about its work.
    pub nudges: bool,
}
