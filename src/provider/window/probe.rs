//! Asks servers about themselves: which local server is running, its models, and a model's window. Best effort, with time
//! limits, and only when called. Sources (November 2026; llama.cpp tools/server README and #26508,
//! lmstudio.ai/docs/developer/rest, docs.ollama.com context-length, openrouter.ai/docs api-reference models): llama.cpp
//! `/props` (`n_ctx` per slot), LM Studio `/api/v1/models` or older `/api/v0/models`, Ollama `/api/ps` and `/api/show`.

use std::time::Duration;

use futures_util::future::{join, join_all, join4};
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::anthropic::provider as anthropic;
use crate::wire::{address, http, key_command};
use base::config::settings::{ProviderKind, ProviderSettings};

/// For a local server's model list.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(250);
const QUESTION_TIMEOUT: Duration = Duration::from_secs(4);
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Ollama's window on the smallest graphics cards, for an unloaded model without `num_ctx`.
const OLLAMA_DEFAULT_TOKENS: u64 = 4_096;

/// Default addresses, most common first.
pub const LOCAL_SERVERS: [(&str, &str); 4] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    // Port of newer versions.
    ("llama.cpp", "http://127.0.0.1:9931/v1"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: String,
    /// For `ProviderSettings::base_url`, with the Chat Completions dialect.
    pub base_url: String,
    pub models: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWindow {
    pub tokens: u64,
    pub source: &'static str,
    pub advice: Option<String>,
}

/// The first one that is running and has a model. Takes at most a quarter of a second.
pub async fn find_local() -> Option<LocalServer> {
    find_among(&LOCAL_SERVERS).await
}

/// The first of `places` (name, base address) that lists models; all are asked at once.
pub async fn find_among(places: &[(&str, &str)]) -> Option<LocalServer> {
    let asked = places.iter().map(|&(name, base_url)| async move {
        let client = ProbeClient::new(base_url, LOCAL_TIMEOUT)?;
        let models = model_names(&client.get("models").await?);
        (!models.is_empty()).then(|| LocalServer {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            models,
        })
    });
    join_all(asked).await.into_iter().flatten().next()
}

/// The window, if the server reports it. Servers without TLS are treated like local ones.
pub async fn context_window(settings: &ProviderSettings) -> Option<ServerWindow> {
    let mut client = ProbeClient::new(&settings.base_url, QUESTION_TIMEOUT)?;
    client.bearer = key(settings).await;
    let model = &*settings.model;
    let window = |source| move |tokens| ServerWindow { tokens, source, advice: None };
    let in_list = |list: Option<Value>| listed_window(&list?, model).map(window("its list of models"));
    let found = if client.base.scheme() == "http" {
        // The window in use counts, not what the model could have.
        let (props, studio, ollama, list) = join4(
            client.get("/props"),
            studio_window(&client, model),
            ollama_window(&client, model),
            client.get("models"),
        )
        .await;
        props
            .and_then(|props| props["default_generation_settings"]["n_ctx"].as_u64())
            .filter(|&tokens| tokens > 0)
            .map(window("llama.cpp's /props"))
            .or(studio.map(window("LM Studio")))
            .or(ollama)
            .or_else(|| in_list(list))
    } else {
        in_list(client.get("models").await)
    };
    found.filter(|window| window.tokens > 0)
}

async fn key(settings: &ProviderSettings) -> Option<String> {
    let printed = match &settings.key_source {
        Some(source) => key_command::token(source, None).await.ok(),
        None => None,
    };
    printed.as_ref().or(settings.api_key.as_ref()).map(|key| key.expose().to_owned())
}

/// Anthropic's list needs its own headers (docs.anthropic.com, API, List Models; November 2026).
pub async fn models(settings: &ProviderSettings) -> Vec<(String, Option<u64>)> {
    if settings.kind == ProviderKind::Scripted {
        return Vec::new();
    }
    let Some(mut client) = ProbeClient::new(&settings.base_url, QUESTION_TIMEOUT) else { return Vec::new() };
    let key = key(settings).await;
    let list = if settings.kind == ProviderKind::Anthropic {
        let Ok(url) = client.base.join("models?limit=1000") else { return Vec::new() };
        let mut request = client.client.get(url).header("anthropic-version", anthropic::VERSION);
        match key {
            None => return Vec::new(),
            Some(key) if settings.bearer || settings.key_source.is_some() => client.bearer = Some(key),
            Some(key) => request = request.header("x-api-key", key),
        }
        client.answer(request).await
    } else {
        client.bearer = key;
        client.get("models").await
    };
    let list = list.unwrap_or_default();
    model_names(&list).into_iter().map(|name| (name.clone(), listed_window(&list, &name))).collect()
}

/// The window with which LM Studio loaded the model, or could load it.
async fn studio_window(client: &ProbeClient, model: &str) -> Option<u64> {
    let (new, old) = join(client.get("/api/v1/models"), client.get("/api/v0/models")).await;
    let new = new.and_then(|list| {
        let models = list["models"].as_array()?;
        let named = |entry: &&Value| {
            let loaded = entry["loaded_instances"].as_array();
            entry["key"] == model || loaded.into_iter().flatten().any(|instance| instance["id"] == model)
        };
        let entry = models.iter().find(named)?;
        let loaded = entry["loaded_instances"].as_array().into_iter().flatten();
        let lengths = loaded.filter_map(|instance| instance["config"]["context_length"].as_u64());
        lengths.min().or_else(|| entry["max_context_length"].as_u64())
    });
    new.or_else(|| listed_window(&old?, model))
}

async fn ollama_window(client: &ProbeClient, model: &str) -> Option<ServerWindow> {
    let body = json!({"model": model});
    // Only Ollama answers this, so only it gets the next question.
    let running = client.get("/api/ps").await?;
    let shown = client.post("/api/show", &body).await?;
    let trained = shown["model_info"]
        .as_object()?
        .iter()
        .find(|(key, _)| key.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64())?;
    let mut loaded = running["models"].as_array().into_iter().flatten();
    let loaded = loaded
        .find(|entry| entry["name"] == model || entry["model"] == model)
        .and_then(|entry| entry["context_length"].as_u64());
    let configured = || {
        let parameters = shown["parameters"].as_str()?;
        parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
    };
    // A server on this machine may have been started with this setting.
    let environment = || {
        let set = std::env::var("OLLAMA_CONTEXT_LENGTH").ok().filter(|_| http::is_loopback(&client.base))?;
        set.parse().ok().filter(|&tokens: &u64| tokens > OLLAMA_DEFAULT_TOKENS)
    };
    let tokens = loaded.or_else(configured).or_else(environment).unwrap_or(OLLAMA_DEFAULT_TOKENS);
    let tokens = tokens.min(trained);
    let advice = (tokens < trained).then(|| {
        format!(
            "Ollama runs {model} with {tokens} of its {trained} tokens and silently drops the rest; start it with \
             OLLAMA_CONTEXT_LENGTH={} for more",
            if tokens < 32_768 { trained.min(32_768) } else { trained }
        )
    });
    Some(ServerWindow { tokens, source: "Ollama", advice })
}

/// vLLM, OpenRouter, Groq, Mistral, LM Studio and llama.cpp each use a different name.
fn listed_window(list: &Value, model: &str) -> Option<u64> {
    const KEYS: &str = "loaded_context_length max_model_len context_length context_window max_context_length max_input_tokens n_ctx_train";
    let models = list["data"].as_array()?;
    let named = |name: &str| models.iter().find(|entry| entry["id"] == name);
    // Tags such as `:nitro` select among OpenRouter's providers; one-model servers often accept any name.
    let entry = named(model)
        .or_else(|| named(model.split_once(':')?.0))
        .or_else(|| models.first().filter(|_| models.len() == 1))?;
    let number = |value: &Value| value.as_u64().filter(|&tokens| tokens > 0);
    let whole =
        KEYS.split(' ').find_map(|key| number(&entry[key]).or_else(|| number(&entry["meta"][key])))?;
    // OpenRouter's first provider may have less than the best one.
    Some(number(&entry["top_provider"]["context_length"]).map_or(whole, |tokens| tokens.min(whole)))
}

fn model_names(list: &Value) -> Vec<String> {
    // An account's own list, for a ChatGPT plan.
    let listed =
        list["models"].as_array().into_iter().flatten().filter(|entry| entry["visibility"] == "list");
    let models = list["data"].as_array().into_iter().flatten();
    let names = models.map(|entry| &entry["id"]).chain(listed.map(|entry| &entry["slug"]));
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

struct ProbeClient {
    client: Client,
    base: Url,
    bearer: Option<String>,
    timeout: Duration,
}

impl ProbeClient {
    fn new(base_url: &str, timeout: Duration) -> Option<Self> {
        let base = address::endpoint(http::parse(base_url).ok()?, "/");
        Some(Self { client: http::build_client(&base).ok()?, base, bearer: None, timeout })
    }

    /// `path` is relative to the base address or, with a leading slash, to the host.
    async fn get(&self, path: &str) -> Option<Value> {
        self.answer(self.client.get(self.base.join(path).ok()?)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let request = self.client.post(self.base.join(path).ok()?);
        self.answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    async fn answer(&self, mut request: reqwest::RequestBuilder) -> Option<Value> {
        if let Some(key) = &self.bearer {
            request = request.bearer_auth(key);
        }
        let asked = async {
            let response = request.send().await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let text = http::bounded_text(response, ANSWER_BYTES, self.timeout).await;
            serde_json::from_str(&text).ok()
        };
        tokio::time::timeout(self.timeout, asked).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_windows() {
        let list =
            json!({"data": [{"id": "a", "max_model_len": 8192}, {"id": "b", "context_window": 131072}]});
        assert_eq!(listed_window(&list, "a"), Some(8192));
        assert_eq!(listed_window(&list, "b"), Some(131_072));
        assert_eq!(listed_window(&list, "c"), None);
        assert_eq!(model_names(&list), ["a", "b"]);
    }
}
