//! A web search by the model's own server: a separate request with the server's search as its only tool, so that the
//! session's tools and history don't change. Based on the types of `@anthropic-ai/sdk` 1.12.0 (`web_search_20250305`: the
//! version that all models and clouds have, without running code), `openai` 6.49.0 for Node (`web_search`,
//! `web_search_call.action.sources`), docs.x.ai (the same tool),
//! openrouter.ai/docs/guides/features/server-tools (`openrouter:web_search`) and `@google/genai` 2.32.0
//! (`googleSearch` at `generateContent`: Gemini's OpenAI address has no search), November 2026.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::anthropic::decoder as anthropic;
use crate::anthropic::provider::AnthropicDialect;
use crate::chat::decoder as chat;
use crate::responses::decoder as responses;
use crate::wire::address::{self, Host};
use crate::wire::endpoint::{self, Endpoint};
use crate::wire::exchange::Dialect;
use crate::wire::http;
use base::config::prompts;
use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::provider::ProviderError;
use base::model::usage::Usage;

const GEMINI: &str = "generativelanguage.googleapis.com";
const MAX_SEARCHES: u32 = 5;
const MAX_TOKENS: u32 = 4_096;
const SEARCH_TIME: Duration = Duration::from_secs(180);
/// Results are sent in full and encrypted.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;
const MAX_PAUSES: usize = 3;
const MAX_SOURCES: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Anthropic,
    Responses,
    Openrouter,
    Gemini,
}

#[derive(Debug)]
pub struct Searcher {
    kind: Kind,
    endpoint: Endpoint,
    model: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub url: String,
    pub title: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// With marks such as `[1]` if the server names its sources.
    pub answer: String,
    pub sources: Vec<Source>,
    pub model: String,
    pub usage: Option<Usage>,
}

impl Searcher {
    /// `None` if the server isn't known to search.
    pub fn new(settings: &ProviderSettings) -> Result<Option<Self>, ProviderError> {
        let Some(kind) = kind(settings)? else { return Ok(None) };
        let endpoint = match kind {
            Kind::Anthropic => AnthropicDialect::connect(settings)?.0,
            Kind::Responses => endpoint::openai_endpoint(settings, address::RESPONSES)?.0,
            Kind::Openrouter => endpoint::openai_endpoint(settings, address::CHAT)?.0,
            Kind::Gemini => {
                let key = endpoint::usable_key(settings, GEMINI, "MYCODE_API_KEY")?;
                let header = key.map(|key| ("x-goog-api-key", key.expose().to_owned()));
                let url = gemini_url(&settings.base_url, &settings.model);
                Endpoint::new(&url, header, &settings.headers, key)?
            }
        };
        Ok(Some(Self { kind, endpoint, model: settings.model.to_string() }))
    }

    pub async fn search(&self, query: &str, model: Option<&str>) -> Result<SearchResult, ProviderError> {
        let late = ProviderError::TooLong { seconds: SEARCH_TIME.as_secs() };
        // Gemini's address contains the model.
        let model = model.filter(|_| self.kind != Kind::Gemini).unwrap_or(&self.model);
        timeout(SEARCH_TIME, self.ask(query, model)).await.unwrap_or(Err(late))
    }

    async fn ask(&self, query: &str, model: &str) -> Result<SearchResult, ProviderError> {
        let mut body = self.body(query, model);
        let mut found = SearchResult { model: model.to_owned(), ..SearchResult::default() };
        for _ in 0..=MAX_PAUSES {
            let reply = self.reply(&body).await?;
            match self.kind {
                Kind::Anthropic => read_messages(&reply, &mut found)?,
                Kind::Responses => read_responses(&reply, &mut found)?,
                Kind::Openrouter => read_chat(&reply, &mut found),
                Kind::Gemini => read_gemini(&reply, &mut found),
            }
            if reply["stop_reason"] != "pause_turn" {
                break;
            }
            if let Some(messages) = body["messages"].as_array_mut() {
                messages.push(json!({"role": "assistant", "content": reply["content"]}));
            }
        }
        found.sources.truncate(MAX_SOURCES);
        if found.answer.trim().is_empty() {
            return Err(ProviderError::Protocol("the search didn't answer".to_owned()));
        }
        Ok(found)
    }

    fn body(&self, query: &str, model: &str) -> Value {
        let rules = prompts::WEB_SEARCH.trim();
        match self.kind {
            Kind::Anthropic => json!({
                "model": model,
                "max_tokens": MAX_TOKENS,
                "system": rules,
                "messages": [{"role": "user", "content": query}],
                "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES}],
            }),
            Kind::Responses => json!({
                "model": model,
                "instructions": rules,
                "input": query,
                "tools": [{"type": "web_search"}],
                "include": ["web_search_call.action.sources"],
                "store": false,
            }),
            Kind::Openrouter => json!({
                "model": model,
                "max_tokens": MAX_TOKENS,
                "messages": [{"role": "system", "content": rules}, {"role": "user", "content": query}],
                "tools": [{"type": "openrouter:web_search", "parameters": {"max_results": MAX_SEARCHES}}],
            }),
            Kind::Gemini => json!({
                "systemInstruction": {"parts": [{"text": rules}]},
                "contents": [{"role": "user", "parts": [{"text": query}]}],
                "tools": [{"googleSearch": {}}],
            }),
        }
    }

    async fn reply(&self, body: &Value) -> Result<Value, ProviderError> {
        let response = self.endpoint.post(&body.to_string()).await?;
        let text = http::bounded_text(response, MAX_REPLY_BYTES, SEARCH_TIME).await;
        serde_json::from_str(&text)
            .map_err(|error| ProviderError::Protocol(format!("the search's reply isn't JSON: {error}")))
    }
}

fn kind(settings: &ProviderSettings) -> Result<Option<Kind>, ProviderError> {
    Ok(match settings.kind {
        ProviderKind::Anthropic => Some(Kind::Anthropic),
        ProviderKind::Responses => Some(Kind::Responses),
        ProviderKind::Scripted => None,
        ProviderKind::Openai | ProviderKind::Chat => {
            let url = http::parse(&settings.base_url)?;
            match Host::of(&url) {
                Host::Openrouter => Some(Kind::Openrouter),
                _ if url.host_str() == Some(GEMINI) => Some(Kind::Gemini),
                host if host.is_strict() || url.host_str() == Some("api.x.ai") => Some(Kind::Responses),
                _ => None,
            }
        }
    })
}

/// Gemini's own address for a model, derived from the one for OpenAI's dialect.
fn gemini_url(base: &str, model: &str) -> String {
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix("/openai").unwrap_or(base);
    format!("{base}/models/{}:generateContent", model.trim_start_matches("models/"))
}

impl SearchResult {
    fn cite(&mut self, url: &Value, title: &Value) -> Option<usize> {
        let url = url.as_str().filter(|url| !url.is_empty())?;
        if let Some(at) = self.sources.iter().position(|source| source.url == url) {
            return Some(at + 1);
        }
        self.sources
            .push(Source { url: url.to_owned(), title: title.as_str().unwrap_or_default().to_owned() });
        Some(self.sources.len())
    }

    fn spent(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.usage.get_or_insert_default().add(&usage);
        }
    }
}

/// Text arrives in pieces with citations; results have links or an error.
fn read_messages(reply: &Value, found: &mut SearchResult) -> Result<(), ProviderError> {
    found.spent(anthropic::read_usage(&reply["usage"]));
    let mut failure = None;
    let blocks = || reply["content"].as_array().into_iter().flatten();
    for block in blocks().filter(|block| block["type"] == "text") {
        found.answer.push_str(block["text"].as_str().unwrap_or_default());
        let mut marks: Vec<usize> = Vec::new();
        for citation in block["citations"].as_array().into_iter().flatten() {
            let number = found.cite(&citation["url"], &citation["title"]);
            marks.extend(number.filter(|number| !marks.contains(number)));
        }
        marks.iter().for_each(|number| found.answer.push_str(&format!("[{number}]")));
    }
    for block in blocks().filter(|block| block["type"] == "web_search_tool_result") {
        match &block["content"] {
            Value::Array(results) => results.iter().for_each(|result| {
                found.cite(&result["url"], &result["title"]);
            }),
            error => failure = error["error_code"].as_str(),
        }
    }
    match failure {
        Some(code) if found.answer.trim().is_empty() => {
            Err(ProviderError::Protocol(format!("the search failed: {code}")))
        }
        _ => Ok(()),
    }
}

fn read_responses(reply: &Value, found: &mut SearchResult) -> Result<(), ProviderError> {
    found.spent(responses::read_usage(&reply["usage"]));
    if let Some(message) = reply["error"]["message"].as_str() {
        return Err(ProviderError::Protocol(message.to_owned()));
    }
    let items = || reply["output"].as_array().into_iter().flatten();
    for part in items().flat_map(|item| item["content"].as_array().into_iter().flatten()) {
        found.answer.push_str(part["text"].as_str().unwrap_or_default());
        for note in part["annotations"].as_array().into_iter().flatten() {
            found.cite(&note["url"], &note["title"]);
        }
    }
    for source in items().flat_map(|item| item["action"]["sources"].as_array().into_iter().flatten()) {
        found.cite(&source["url"], &source["title"]);
    }
    Ok(())
}

fn read_chat(reply: &Value, found: &mut SearchResult) {
    found.spent(chat::read_usage(&reply["usage"]));
    let message = &reply["choices"][0]["message"];
    found.answer.push_str(message["content"].as_str().unwrap_or_default());
    for note in message["annotations"].as_array().into_iter().flatten() {
        found.cite(&note["url_citation"]["url"], &note["url_citation"]["title"]);
    }
}

/// Citations are positioned by the byte offset at which their text ends.
fn read_gemini(reply: &Value, found: &mut SearchResult) {
    let (candidate, usage) = (&reply["candidates"][0], &reply["usageMetadata"]);
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    found.spent(usage.is_object().then(|| Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        cached: count("cachedContentTokenCount"),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        reasoning: count("thoughtsTokenCount"),
        ..Usage::default()
    }));
    let grounding = &candidate["groundingMetadata"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let chunks = list(&grounding["groundingChunks"]);
    let numbers: Vec<Option<usize>> =
        chunks.iter().map(|chunk| found.cite(&chunk["web"]["uri"], &chunk["web"]["title"])).collect();
    for (at, part) in list(&candidate["content"]["parts"]).iter().enumerate() {
        if part["thought"] == true {
            continue;
        }
        let mut text = part["text"].as_str().unwrap_or_default().to_owned();
        let mut marks: Vec<(usize, usize)> = Vec::new();
        for support in list(&grounding["groundingSupports"]) {
            let segment = &support["segment"];
            if segment["partIndex"].as_u64().unwrap_or(0) == at as u64 {
                let end = segment["endIndex"].as_u64().and_then(|end| usize::try_from(end).ok());
                let end = text.floor_char_boundary(end.unwrap_or(text.len()).min(text.len()));
                let named = list(&support["groundingChunkIndices"]).into_iter();
                let named = named.filter_map(|index| *numbers.get(usize::try_from(index.as_u64()?).ok()?)?);
                marks.extend(named.map(|number| (end, number)));
            }
        }
        marks.sort_unstable();
        marks.dedup();
        marks.iter().rev().for_each(|(end, number)| text.insert_str(*end, &format!("[{number}]")));
        found.answer.push_str(&text);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base::config::settings::ProviderSettings;
    use base::secret::Secret;

    fn settings(kind: ProviderKind, base_url: &str) -> ProviderSettings {
        ProviderSettings {
            kind,
            base_url: base_url.to_owned(),
            model: "m".into(),
            idle_timeout_s: 1,
            answer_timeout_s: 1,
            max_tries: 1,
            ..ProviderSettings::default()
        }
    }

    #[test]
    fn who_searches() {
        for (provider, url, expected) in [
            (ProviderKind::Anthropic, "https://api.anthropic.com", Some(Kind::Anthropic)),
            (ProviderKind::Openai, "https://api.openai.com/v1", Some(Kind::Responses)),
            (ProviderKind::Openai, "https://r.openai.azure.com", Some(Kind::Responses)),
            (ProviderKind::Openai, "https://api.x.ai/v1", Some(Kind::Responses)),
            (ProviderKind::Chat, "https://openrouter.ai/api/v1", Some(Kind::Openrouter)),
            (ProviderKind::Responses, "http://gateway/v1", Some(Kind::Responses)),
            (
                ProviderKind::Chat,
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                Some(Kind::Gemini),
            ),
            (ProviderKind::Openai, "http://localhost:11434/v1", None),
            (ProviderKind::Scripted, "", None),
        ] {
            assert_eq!(kind(&settings(provider, url)).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn gemini_says_what_each_sentence_stands_on() {
        let base = "https://generativelanguage.googleapis.com/v1beta/openai/";
        let keyed =
            ProviderSettings { api_key: Some(Secret::new("k")), ..settings(ProviderKind::Chat, base) };
        let searcher = Searcher::new(&keyed).unwrap().unwrap();
        assert_eq!(searcher.body("q", "m")["tools"], json!([{"googleSearch": {}}]));
        assert_eq!(
            gemini_url(base, "models/gemini-3-pro"),
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"
        );
        let support =
            |end: u64, chunks: Value| json!({"segment": {"endIndex": end}, "groundingChunkIndices": chunks});
        let reply = json!({
            "candidates": [{
                "content": {"role": "model", "parts": [{"text": "Größe 1. Zwei."}]},
                "groundingMetadata": {
                    "groundingChunks": [{"web": {"uri": "https://a.example/", "title": "a.example"}},
                        {"web": {"uri": "https://b.example/", "title": "b.example"}}],
                    "groundingSupports": [support(10, json!([0])), support(99, json!([1, 0, 7]))],
                },
            }],
            "usageMetadata": {"promptTokenCount": 5, "toolUsePromptTokenCount": 20, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
        });
        let mut found = SearchResult::default();
        read_gemini(&reply, &mut found);
        assert_eq!(found.answer, "Größe 1.[1] Zwei.[1][2]");
        assert_eq!(found.sources[1].title, "b.example");
        assert_eq!(found.usage.map(|usage| (usage.input, usage.output, usage.reasoning)), Some((25, 5, 2)));
        read_gemini(&json!({"promptFeedback": {"blockReason": "SAFETY"}}), &mut found);
    }

    #[test]
    fn openrouter_names_its_sources_with_the_message() {
        let searcher =
            Searcher::new(&settings(ProviderKind::Openai, "https://openrouter.ai/api/v1")).unwrap();
        let body = searcher.unwrap().body("q", "a/b");
        assert_eq!(body["tools"][0]["type"], "openrouter:web_search");
        let citation = json!({"url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 3});
        let reply = json!({
            "choices": [{"message": {"role": "assistant", "content": "Yes.",
                "annotations": [{"type": "url_citation", "url_citation": citation}]}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "server_tool_use": {"web_search_requests": 1}},
        });
        let mut found = SearchResult::default();
        read_chat(&reply, &mut found);
        assert_eq!((found.answer.as_str(), found.sources[0].title.as_str()), ("Yes.", "A"));
        assert_eq!(found.usage.unwrap().total(), 10);
    }
}
