//! What the engine keeps beside the agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::control::Questions;
use super::lists::models;
use super::session::prompts::Prompts;
use super::session::recall::LogOriginals;
use super::session::review::Reviewer;
use base::config::load::{ConfigError, Loaded};
use base::config::settings::{ContextSettings, Origin};
use base::protocol::notice as texts;
use provider::window::finder::WindowFinder;
use tools::lsp::servers::LanguageServers;
use tools::mcp::servers::Servers;
use tools::run::jobs::Jobs;
use tools::skill::set::SkillSet;

/// Writes the session of a log to a file, over one that is there only when told to; the error ends a sentence.
pub type Exporter = fn(log: &Path, file: &Path, force: bool) -> Result<(), String>;

/// What the engine keeps beside the agent.
pub struct EngineDeps {
    pub loaded: Loaded,
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub interactive: bool,
    pub originals: Arc<LogOriginals>,
    /// The model was named by a flag: it wins over what a resumed session had.
    pub model_from_flag: bool,
    /// Tells what the session changed.
    pub reviewer: Option<Reviewer>,
    /// Background jobs, which can be ended in the middle of a turn.
    pub jobs: Arc<Jobs>,
    pub language_servers: LanguageServers,
    pub prompts: Prompts,
    pub skills: Arc<SkillSet>,
    pub questions: Arc<Questions>,
    pub servers: Arc<Servers>,
    pub exporter: Exporter,
}

impl EngineDeps {
    /// The context settings for another model, with the window that its server has.
    pub async fn settings_for(&self, model: &str) -> Result<ContextSettings, ConfigError> {
        let mut learned = None;
        let asks = self.loaded.context.window_origin != Origin::User;
        if let Some(mut settings) = self.loaded.provider.clone().filter(|_| asks) {
            settings.model = model.into();
            learned = WindowFinder::new(&self.loaded.servers).find(&settings).await.learned();
        }
        self.loaded.context_for(model, learned)
    }

    /// Whether the model can be chosen after `now`: a name that neither the table nor the server knows is a mistake where
    /// the present model is one of the table.
    pub async fn check_model(&self, model: &str, now: &str) -> Result<(), String> {
        if models::is_in_table(model)
            || !models::is_in_table(now)
            || self.settings_for(model).await.map_or(true, |found| found.window_origin != Origin::Default)
        {
            return Ok(());
        }
        let nearest = models::nearest(&self.loaded, model).await;
        Err(texts::model_unknown(model, now, nearest.as_deref()))
    }
}
