//! The options that all commands share, as clap reads them: plain data whose doc comments are the help. Those of one command
//! are beside its code; `command_line.rs` joins them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use base::config::mode::Mode;
use base::config::settings::{Permission, ProviderKind};
use base::config::theme::ThemeName;
use tools::arguments::translate::quoted;

/// Accepted by every command: `command_line` makes these global.
#[derive(Args, Clone, Debug, Default)]
pub struct SharedArgs {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Continue the last session of this project, with its --model and --base-url unless given
    #[arg(short = 'c', long = "continue")]
    pub continue_last: bool,

    /// Fork: continue in a copy and leave the original unchanged
    #[arg(long)]
    pub fork: bool,

    /// Chat line by line, for screen readers and simple terminals (also MYCODE_PLAIN=1)
    #[arg(long)]
    pub plain: bool,

    /// Only the chat has this option.
    #[arg(skip)]
    pub theme: Option<ThemeName>,
}

/// Which model to use, and what it may do.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// openai (and compatible servers), anthropic or scripted
    #[arg(long, help_heading = "Model", hide_possible_values = true, value_parser = choice::<ProviderKind>(PROVIDERS))]
    pub provider: Option<ProviderKind>,

    /// Model name
    #[arg(short, long, help_heading = "Model")]
    pub model: Option<String>,

    /// How long the model may think: low, medium, high, or the server's own name for a level
    #[arg(long, visible_alias = "reasoning-effort", help_heading = "Model", value_name = "LEVEL")]
    pub effort: Option<String>,

    /// Server address, such as http://localhost:11434/v1
    #[arg(long, help_heading = "Model", value_name = "URL")]
    pub base_url: Option<String>,

    /// Environment variable with the API key
    #[arg(long, hide = true, value_name = "NAME")]
    pub api_key_env: Option<String>,

    /// Replies for the scripted provider, one JSON object per line
    #[arg(long, help_heading = "Model", value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Size of the model's context window in tokens
    #[arg(long, help_heading = "Model", value_name = "TOKENS")]
    pub context_window: Option<u64>,

    /// Extra request header, as "Name: value"; can be repeated
    #[arg(long, help_heading = "Model", value_name = "HEADER")]
    pub header: Vec<String>,

    /// Wait out rate limits and outages of the model's server for this long, such as 8h or 30m
    #[arg(long, help_heading = "Model", value_name = "TIME", value_parser = seconds)]
    pub wait: Option<u64>,

    /// In seconds; used if neither option nor setting names a wait.
    #[arg(skip)]
    pub default_wait: Option<u64>,

    /// Permission level: read-only, ask, accept-edits, auto or full
    #[arg(long, help_heading = "Session", value_name = "LEVEL", hide_possible_values = true, value_parser = choice::<Permission>(PERMISSIONS))]
    pub permission: Option<Permission>,

    /// Agent mode: normal, explore, analyze or plan (all except normal are read-only)
    #[arg(long, help_heading = "Session", value_name = "MODE", hide_possible_values = true, value_parser = choice::<Mode>(MODES))]
    pub mode: Option<Mode>,

    /// Maximum number of model replies per task (a turn in Claude Code's count)
    #[arg(long, visible_alias = "max-turns", help_heading = "Session", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,

    /// Stop when the run has cost this much, in US dollars, sub-agents included; counted when a reply ends
    #[arg(long, visible_alias = "max-budget-usd", help_heading = "Session", value_name = "USD")]
    pub max_cost: Option<f64>,

    /// Allow this without asking, such as 'Bash(cargo test)', Edit or 'WebFetch(docs.rs)'; can be repeated
    #[arg(long, visible_alias = "allowedTools", help_heading = "Session", value_name = "RULE")]
    pub allow: Vec<String>,

    /// Never do this, such as 'Bash(git push *)', 'Edit(migrations/**)' or Task; can be repeated
    #[arg(long, visible_alias = "disallowedTools", help_heading = "Session", value_name = "RULE")]
    pub deny: Vec<String>,

    /// Leave out the user's own files, whose mistake is reported
    #[arg(skip)]
    pub skip_user_files: bool,

    /// Always ask before this; from settings only
    #[arg(skip)]
    pub ask: Vec<String>,

    /// The rules were written for another program
    #[arg(long, hide = true)]
    pub foreign_rules: bool,

    /// Trust this folder's own configuration for this run
    #[arg(long, help_heading = "Session")]
    pub trust: bool,

    /// Also allow reading and changing files in this folder, which /rewind doesn't restore; can be repeated
    #[arg(long, help_heading = "Session", value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,

    /// Work in this folder
    #[arg(short = 'C', long = "cd", help_heading = "Session", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs without a user should survive an outage of an hour.
pub const UNATTENDED_WAIT: u64 = 3_600;

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "use a number with s, m or h, such as 8h, 30m or 90s".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

pub const PROVIDERS: &[&str] = &["openai", "chat", "responses", "anthropic", "scripted"];
pub const PERMISSIONS: &[&str] = &["read-only", "ask", "accept-edits", "auto", "full"];
pub const MODES: &[&str] = &["normal", "explore", "analyze", "plan", "auto"];
pub const THEMES: &[&str] = &["auto", "dark", "light", "high-contrast", "ansi"];
pub const PHASES: &[&str] = &["explore", "analyze", "plan", "do"];
pub const STAGES: &[&str] = &["spec", "plan", "code", "review"];
pub const BINDINGS: &[&str] = &["none", "drops", "rejects"];

pub fn choice<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Display + std::fmt::Debug,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>().map_err(|error| error.to_string()))
}

impl ModelArgs {
    pub fn for_resume(&self) -> String {
        let folder = self.folder.as_ref().map(|folder| quoted(&folder.to_string_lossy()));
        folder.map_or_else(String::new, |folder| format!(" --cd {folder}"))
    }

    /// The options that a session keeps when it is continued without any of them.
    pub fn model_options(&self) -> BTreeMap<String, String> {
        // An address may hold a key.
        let address = self.base_url.clone().filter(|address| !address.contains(['@', '?']));
        let provider = self.provider.map(|kind| <&str>::from(kind).to_owned());
        let given = [
            ("provider", provider),
            ("model", self.model.clone()),
            ("base-url", address),
            ("api-key-env", self.api_key_env.clone()),
        ];
        if self.script.is_some() {
            return BTreeMap::new();
        }
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// These on the server of a session, unless another one is named.
    pub fn continuing(&self, begun: &BTreeMap<String, String>) -> Option<Self> {
        let place = [&self.base_url, &self.api_key_env].into_iter().any(Option::is_some);
        if begun.is_empty() || place || self.provider.is_some() || self.script.is_some() {
            return None;
        }
        let of = |name: &str| begun.get(name).cloned();
        Some(Self {
            provider: of("provider").and_then(|kind| kind.parse().ok()),
            model: self.model.clone().or_else(|| of("model")),
            base_url: of("base-url"),
            api_key_env: of("api-key-env"),
            ..self.clone()
        })
    }
}
