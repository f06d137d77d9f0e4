//! OpenAI's two dialects and the servers that imitate them: Chat Completions, Responses, and both as one provider. Newer
//! models refuse tools in Chat Completions, while imitators often know nothing else. The model table and the address decide;
//! if a server names the other endpoint, this request and later ones use it.

use std::sync::Arc;

use async_stream::stream;
use futures_util::StreamExt;

use super::chat::body as chat;
use super::chat::decoder::ChatDecoder;
use super::chat::replay::Demands;
use super::responses::decoder::Responses;
use crate::learned::lessons::PerModel;
use crate::wire::address::{self, Host};
use crate::wire::decoder::{Decoder, ReplyState};
use crate::wire::endpoint::{self, Endpoint};
use crate::wire::exchange::{Dialect, HttpProvider};
use crate::wire::retry::RetryPolicy;
use base::config::provider::models::{self, Api};
use base::config::settings::ProviderSettings;
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::model::stream::StreamEvent;

pub type Chat = HttpProvider<ChatDialect>;

const CACHE_KEY: &str = "prompt_cache_key";

pub struct ChatDialect {
    /// OpenAI's own service.
    strict: bool,
    /// A gateway that converts reasoning to each vendor's form.
    translates: bool,
    /// A service that takes `prompt_cache_key`.
    keyed: bool,
    learned: PerModel<Demands>,
}

impl ChatDialect {
    fn demands(&self, model: &str) -> Demands {
        let usual = || Demands::at(self.strict, model).of_server(self.translates, self.keyed);
        self.learned.get(model).unwrap_or_else(usual)
    }
}

impl Dialect for ChatDialect {
    const NAME: &'static str = "openai";
    const STOP: Option<&'static str> = Some("stop");

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let (endpoint, host) = endpoint::openai_endpoint(settings, address::CHAT)?;
        let translates = host == Host::Openrouter;
        let keyed = endpoint::cache_key(settings) == Some(CACHE_KEY);
        Ok((endpoint, Self { strict: host.is_strict(), translates, keyed, learned: PerModel::default() }))
    }

    fn body(&self, request: &Request) -> String {
        chat::body_for(request, self.strict, self.demands(&request.params.model))
    }

    fn learn(&self, model: &Arc<str>, error: &ProviderError) -> bool {
        let after = self.demands(model).after(error);
        after.map(|demands| self.learned.set(model, demands)).is_some()
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(state))
    }
}

pub struct Openai {
    chat: Arc<Chat>,
    responses: Arc<Responses>,
    base: Base,
    learned: Arc<PerModel<Api>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Named(Api),
    /// Runs OpenAI's own software.
    Own,
    Other,
}

impl Openai {
    pub fn with_retry(settings: &ProviderSettings, retry: RetryPolicy) -> Result<Self, ProviderError> {
        let url = endpoint::address(settings)?;
        let path = url.path().trim_end_matches('/');
        let base = match () {
            () if path.ends_with(address::CHAT) => Base::Named(Api::Chat),
            () if path.ends_with(address::RESPONSES) => Base::Named(Api::Responses),
            () if Host::of(&url).is_strict() => Base::Own,
            () => Base::Other,
        };
        Ok(Self {
            chat: Arc::new(Chat::with_retry(settings, retry.clone())?),
            responses: Arc::new(Responses::with_retry(settings, retry)?),
            base,
            learned: Arc::default(),
        })
    }

    fn api(&self, model: &str) -> Api {
        self.learned.get(model).unwrap_or_else(|| first_choice(self.base, model))
    }

    fn provider(&self, api: Api) -> Arc<dyn Provider> {
        if api == Api::Responses { Arc::clone(&self.responses) as _ } else { Arc::clone(&self.chat) as _ }
    }
}

/// The API to try first. Names with a vendor prefix belong to gateways, which all support Chat Completions.
fn first_choice(base: Base, model: &str) -> Api {
    let made_for_responses = || models::facts(model).is_some_and(|facts| facts.api == Api::Responses);
    match base {
        Base::Named(api) => api,
        Base::Own if made_for_responses() => Api::Responses,
        Base::Other if !model.contains('/') && made_for_responses() => Api::Responses,
        _ => Api::Chat,
    }
}

impl Provider for Openai {
    fn stream(&self, request: &Request) -> ReplyStream {
        let model = Arc::clone(&request.params.model);
        let first = self.api(&model);
        let second = if first == Api::Responses { Api::Chat } else { Api::Responses };
        let mut reply = self.provider(first).stream(request);
        let (other, request, learned) = (self.provider(second), request.clone(), Arc::clone(&self.learned));
        Box::pin(stream! {
            let (mut switched, mut known) = (false, false);
            while let Some(event) = reply.next().await {
                match event {
                    Err(ProviderError::WrongEndpoint { .. }) if !switched => {
                        switched = true;
                        reply = other.stream(&request);
                    }
                    event => {
                        if switched && !known && event.as_ref().is_ok_and(StreamEvent::is_answer) {
                            known = true;
                            learned.set(&model, second);
                        }
                        yield event;
                    }
                }
            }
        })
    }

    fn name(&self) -> &'static str {
        "openai"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_choices() {
        for (base, model, expected) in [
            (Base::Own, "gpt-6.1-terra", Api::Responses),
            (Base::Own, "gpt-4o", Api::Chat),
            (Base::Own, "my-deployment", Api::Chat),
            (Base::Other, "gpt-5.4", Api::Responses),
            (Base::Other, "openai/gpt-5.4", Api::Chat),
            (Base::Other, "qwen3-coder", Api::Chat),
            (Base::Other, "gpt-oss-20b", Api::Chat),
            (Base::Named(Api::Chat), "gpt-5.4", Api::Chat),
            (Base::Named(Api::Responses), "m", Api::Responses),
        ] {
            assert_eq!(first_choice(base, model), expected, "{base:?} {model}");
        }
    }
}
