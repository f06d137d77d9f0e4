//! Another model in the running program: chosen by the user, or long ago by the user in a session that is continued.

use super::engine::Engine;
use crate::protocol::event::Level;
use crate::provider::probe;

impl Engine {
    /// Another model answers from here on; `false` when its settings cannot be used.
    pub async fn switch_model(&mut self, model: &str) -> bool {
        match self.wiring.loaded.context_for(model, self.local_window(model).await) {
            Ok(context) => {
                self.core.context = context;
                self.core.params.model = model.into();
                true
            }
            Err(error) => {
                self.notice(Level::Error, format!("{error}; {}.", error.hint));
                false
            }
        }
    }

    /// A session goes on with the model that the user chose in it, where this provider has it.
    pub async fn go_on_with(&mut self, chosen: Option<(String, String)>) {
        let Some((provider, model)) = chosen else { return };
        let now = self.core.params.model.to_string();
        if provider != self.core.provider.name() {
            let text = format!(
                "This session was switched to {model} ({provider}), which is not set up now: it goes on with {now}."
            );
            self.notice(Level::Warning, text);
        } else if model != now && !self.wiring.model_is_wanted && self.switch_model(&model).await {
            self.notice(
                Level::Info,
                format!(
                    "This session was switched to {model} and goes on with it. /model {now} changes that."
                ),
            );
        }
    }

    /// The window of a model on a server at its usual local address.
    async fn local_window(&self, model: &str) -> Option<u64> {
        let mut settings = self.wiring.loaded.provider.clone()?;
        settings.model = model.into();
        if !probe::is_usual_local(&settings.base_url) {
            return None;
        }
        probe::context_window(&settings).await.map(|window| window.tokens)
    }
}
