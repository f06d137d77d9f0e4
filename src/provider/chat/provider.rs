//! OpenAI Chat Completions and every server that imitates it.

use std::sync::Arc;

use super::body::{self, Flavor};
use super::decoder::ChatDecoder;
use super::replay::Demands;
use crate::wire::address::{self, Host};
use crate::wire::decoder::{Decoder, ReplyState};
use crate::wire::exchange::{Dialect, HttpProvider};
use crate::wire::http::{self, Endpoint};
use crate::wire::per_model::PerModel;
use base::config::settings::ProviderSettings;
use base::model::provider::ProviderError;
use base::model::request::Request;

pub type Chat = HttpProvider<ChatDialect>;

pub struct ChatDialect {
    flavor: Flavor,
    /// A gateway that converts reasoning to each vendor's form by itself.
    translates: bool,
    learned: PerModel<Demands>,
}

impl ChatDialect {
    fn demands(&self, model: &str) -> Demands {
        self.learned.get(model).unwrap_or_else(|| match () {
            () if self.flavor.strict => Demands::none(),
            () if self.translates => Demands::default(),
            () => Demands::of(model),
        })
    }
}

impl Dialect for ChatDialect {
    const NAME: &'static str = "openai";
    const STOP: Option<&'static str> = Some("stop");

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let (endpoint, host) = http::openai_endpoint(settings, address::CHAT)?;
        let flavor = Flavor { strict: host.is_strict() };
        Ok((endpoint, Self { flavor, translates: host == Host::Openrouter, learned: PerModel::default() }))
    }

    fn body(&self, request: &Request) -> String {
        body::body_for(request, self.flavor, self.demands(&request.params.model))
    }

    fn learn(&self, model: &Arc<str>, error: &ProviderError) -> bool {
        let after = self.demands(model).after(error);
        after.map(|demands| self.learned.set(model, demands)).is_some()
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(state))
    }
}
