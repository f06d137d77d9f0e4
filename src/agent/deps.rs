//! What the engine needs in addition to the agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::control::Questions;
use super::lists::models;
use super::session::prompts::Prompts;
use super::sub_agents::template::OpenTree;
use super::toolset::context::ToolParts;
use base::config::error::{ConfigError, bad};
use base::config::files::load::Loaded;
use base::config::settings::{ContextSettings, Origin};
use base::protocol::notice as texts;
use base::search::fuzzy;
use provider::registry::SwitchableProvider;
use provider::window::finder::WindowFinder;
use tools::cx::ToolCx;

/// Exports a log's session to a file; overwrites only with `force`. The error completes a sentence.
pub type Exporter = fn(log: &Path, file: &Path, force: bool) -> Result<(), String>;

#[derive(Clone, Copy)]
pub struct Ports {
    pub exporter: Exporter,
    pub trees: OpenTree,
}

pub struct EngineDeps {
    pub loaded: Loaded,
    pub current: Arc<SwitchableProvider>,
    pub project_state: PathBuf,
    pub interactive: bool,
    pub cx: ToolCx,
    pub tools: ToolParts,
    pub prompts: Prompts,
    pub questions: Arc<Questions>,
    pub exporter: Exporter,
}

impl EngineDeps {
    /// Returns the model to use from now on, if the server changed.
    pub async fn use_saved_keys(&mut self) -> Result<Option<Arc<str>>, String> {
        models::use_saved_keys(&mut self.loaded, &self.current).await
    }

    /// The context settings for another model, with the window its server reports.
    pub async fn settings_for(&self, model: &str) -> Result<ContextSettings, ConfigError> {
        let own = self.loaded.provider.as_ref().map(|settings| &*settings.model);
        if let Some(place) = self.loaded.admin.lock("model").filter(|_| own.is_some_and(|own| own != model)) {
            return Err(bad(format!("{place} locks the model"), "ask whoever manages this machine"));
        }
        let mut learned = None;
        let asks = self.loaded.context.window_origin != Origin::User;
        if let Some(settings) = self.loaded.provider_for(model).filter(|_| asks) {
            learned = WindowFinder::new(&self.loaded.servers).find(&settings).await.learned();
        }
        self.loaded.context_for(model, learned)
    }

    /// Rejects a model that is in no table and on no server, if the current one (`now`) is in the table: it is likely a typo.
    pub async fn check_model(&self, model: &str, now: &str) -> Result<(), String> {
        if models::is_known(&self.loaded, model)
            || !models::is_in_table(now)
            || self.settings_for(model).await.map_or(true, |found| found.window_origin != Origin::Default)
        {
            return Ok(());
        }
        let nearest = models::nearest(&self.loaded, model).await;
        Err(texts::model_unknown(model, now, nearest.as_deref()))
    }

    /// A warning about a model that the server doesn't list; it may know it all the same.
    pub async fn unlisted(&self, model: &str) -> Option<String> {
        let listed = models::lists_without(&self.loaded, model).await?;
        let nearest = fuzzy::nearest_name(model, listed.iter().map(String::as_str));
        Some(texts::model_unknown(model, model, nearest))
    }
}
