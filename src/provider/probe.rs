//! Asks servers about themselves: which local server runs, what models it has, how large a model's window is. All
//! of it is best effort and bounded in time; nothing of it runs unless it is called.

use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::config::settings::ProviderSettings;
use crate::provider::wire::http;

/// How long a local server may take to list its models.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a server may take to answer one question about a model.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(1_500);
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// What Ollama gives a model that it has not loaded and that names no `num_ctx`.
const OLLAMA_DEFAULT_TOKENS: u64 = 4_096;

/// The default addresses of local servers, most common first.
pub const LOCAL_SERVERS: [(&str, &str); 3] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
];

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: String,
    /// For `ProviderSettings::base_url`; the dialect is Chat Completions.
    pub base_url: String,
    /// Never empty.
    pub models: Vec<String>,
}

/// A window as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWindow {
    pub tokens: u64,
    /// What the user should know about it, if anything.
    pub advice: Option<String>,
}

/// The first of [`LOCAL_SERVERS`] that runs and has a model. Takes at most a quarter of a second.
pub async fn find_local() -> Option<LocalServer> {
    find_among(&LOCAL_SERVERS).await
}

/// The first of `places` (name, base address) that answers with a list of models; all are asked at once.
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

/// Whether this is one of the usual places of a local server. Only those are asked for their window before the first
/// request: any other server would have to answer a question that it may not know, and the start would wait for it.
pub fn is_usual_local(base_url: &str) -> bool {
    [":11434", ":1234", ":8080"].iter().any(|port| base_url.contains(port))
        && (base_url.contains("localhost") || base_url.contains("127.0.0.1"))
}

/// The window of `settings.model`, where the server reports it. Servers without TLS are taken for local ones and asked in
/// their own ways too (llama.cpp, LM Studio, Ollama).
pub async fn context_window(settings: &ProviderSettings) -> Option<ServerWindow> {
    let mut client = ProbeClient::new(&settings.base_url, QUESTION_TIMEOUT)?;
    client.bearer = settings.api_key.as_ref().map(|key| key.expose().to_owned());
    let model = &*settings.model;
    let plain = |tokens| ServerWindow { tokens, advice: None };
    if client.base.scheme() != "http" {
        return listed_window(&client.get("models").await?, model).map(plain);
    }
    // What is in force now comes before what the model could do.
    let ((props, studio), (list, ollama)) = join(
        join(client.get("/props"), client.get("/api/v0/models")),
        join(client.get("models"), ollama_window(&client, model)),
    )
    .await;
    props
        .and_then(|props| props["default_generation_settings"]["n_ctx"].as_u64())
        .map(plain)
        .or_else(|| studio.and_then(|list| listed_window(&list, model)).map(plain))
        .or(ollama)
        .or_else(|| list.and_then(|list| listed_window(&list, model)).map(plain))
        .filter(|window| window.tokens > 0)
}

async fn ollama_window(client: &ProbeClient, model: &str) -> Option<ServerWindow> {
    let body = json!({"model": model});
    let (running, shown) = join(client.get("/api/ps"), client.post("/api/show", &body)).await;
    let shown = shown?;
    let trained = shown["model_info"]
        .as_object()?
        .iter()
        .find(|(key, _)| key.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64())?;
    let loaded = running.and_then(|running| {
        let models = running["models"].as_array()?;
        models.iter().find(|entry| entry["name"] == model || entry["model"] == model)?["context_length"]
            .as_u64()
    });
    let configured = || {
        let parameters = shown["parameters"].as_str()?;
        parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
    };
    let tokens = loaded.or_else(configured).unwrap_or(OLLAMA_DEFAULT_TOKENS).min(trained);
    let advice = (tokens < trained).then(|| {
        format!(
            "Ollama runs {model} with {tokens} of its {trained} tokens and silently drops the rest; start it with \
             OLLAMA_CONTEXT_LENGTH={} for more",
            trained.min(32_768)
        )
    });
    Some(ServerWindow { tokens, advice })
}

/// The window in a model list: vLLM, OpenRouter, Groq, Mistral, LM Studio and llama.cpp each name it differently.
fn listed_window(list: &Value, model: &str) -> Option<u64> {
    const KEYS: [&str; 6] = [
        "loaded_context_length",
        "max_model_len",
        "context_length",
        "context_window",
        "max_context_length",
        "max_input_tokens",
    ];
    let models = list["data"].as_array()?;
    // A server with one model often answers to any name.
    let entry = models
        .iter()
        .find(|entry| entry["id"] == model)
        .or_else(|| models.first().filter(|_| models.len() == 1))?;
    KEYS.iter().find_map(|key| entry[key].as_u64()).filter(|&tokens| tokens > 0)
}

fn model_names(list: &Value) -> Vec<String> {
    let models = list["data"].as_array();
    models.into_iter().flatten().filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect()
}

struct ProbeClient {
    client: Client,
    base: Url,
    bearer: Option<String>,
    timeout: Duration,
}

impl ProbeClient {
    fn new(base_url: &str, timeout: Duration) -> Option<Self> {
        let base = http::parse(&format!("{}/", base_url.trim_end_matches('/'))).ok()?;
        Some(Self { client: http::build_client(&base).ok()?, base, bearer: None, timeout })
    }

    /// The JSON at `path`, below the base address or (with a leading slash) below the host.
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
