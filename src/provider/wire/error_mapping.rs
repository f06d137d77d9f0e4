//! What a server's error means. Servers say the same few things in many words: OpenAI's and Anthropic's error objects,
//! FastAPI's `detail`, Ollama's bare string, a proxy's HTML page. Each becomes one `ProviderError` with a message that
//! fits on one line and never shows the key.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::address;
use crate::base::secret::Secret;
use crate::base::text;
use crate::provider::api::ProviderError;

/// Longest message shown, in characters.
const MESSAGE_CHARS: usize = 400;

/// A wait that the user should hear of when the server asks for it.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// How servers say that the request does not fit. In lower case; matched anywhere in the message or code.
const CONTEXT_WORDS: [&str; 20] = [
    "context_length_exceeded",
    "exceed_context_size",
    "model_context_window_exceeded",
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt is too long",
    "prompt too long",
    "prompt exceeds",
    "maximum prompt length",
    "input is too long",
    "input length",
    "input token count",
    "too many tokens",
    "model token limit",
    "max_new_tokens` must be",
    "reduce the length",
    "request_too_large",
    "maximum number of tokens allowed",
];

/// How servers say that reasoning which was sent back is of no use to them: all words of one row.
const REASONING_WORDS: [&[&str]; 11] = [
    // OpenAI.
    &["invalid_encrypted_content"],
    &["encrypted content", "could not be"],
    &["item with id 'rs_", "not found"],
    &["'reasoning'", "without its required"],
    // Anthropic.
    &["invalid `signature` in `thinking`"],
    &["bound to a different conversation"],
    &["thinking", "blocks", "cannot be modified"],
    &["expected `thinking` or `redacted_thinking`, but found"],
    // Gemini; that none was sent is another matter.
    &["thought signature", "not valid"],
    &["corrupted thought signature"],
    &["invalid thought_signature"],
];

/// How the one endpoint says that a model wants the other.
const USE_RESPONSES_WORDS: [&str; 4] = [
    "v1/responses",
    "responses api",
    "not supported in the v1/chat/completions endpoint",
    // Azure.
    "chatcompletion operation does not work",
];
const USE_CHAT_WORDS: [&str; 2] = ["chat/completions", "chat completions"];
/// How servers say that they have the endpoint, but not the model.
const MODEL_WORDS: [&str; 4] = ["model", "deployment", "endpoints found", "engine"];

/// How servers say that there is no money left, or that none may be spent; waiting does not help. LiteLLM says it with 400,
/// 429 or 500 (litellm#14144, #37000), OpenRouter with 402, and with 403 of a key (Roo-Code#515); read in November 2026.
const QUOTA_WORDS: [&str; 18] = [
    "insufficient_quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "exceeded your current quota",
    "credit balance",
    "more credits",
    "out of credits",
    "billing",
    "budget has been exceeded",
    "budget_exceeded",
    "exceededbudget",
    "exceeded budget",
    "crossed budget",
    "over budget",
    "key limit exceeded",
    "spending limit",
    "payment required",
];

/// The error for an HTTP status that is not a success.
pub fn from_status(
    status: u16,
    headers: &HeaderMap,
    body: &str,
    url: &str,
    key: Option<&Secret>,
) -> ProviderError {
    let reply = ErrorReply::read(body);
    let message = display_message(&reply.message, key);
    let message = match (message.is_empty(), headers.get("location").and_then(|value| value.to_str().ok())) {
        (_, Some(place)) if (300..400).contains(&status) => {
            let place = place.split(['?', '#']).next().unwrap_or_default();
            let place = text::one_line(&without_key(place, key), 200);
            format!("it redirects to {place}; set --base-url to that address")
        }
        (true, _) => "no reason given".to_owned(),
        (false, _) => message,
    };
    classify(status, &reply, message, retry_after(headers, SystemTime::now()), url)
}

/// The error for an error object that arrived inside an answer whose status was a success.
pub fn from_event(error: &Value, key: Option<&Secret>) -> ProviderError {
    let reply = ErrorReply::of(error);
    let message = match display_message(&reply.message, key) {
        message if message.is_empty() => text::one_line(&error.to_string(), MESSAGE_CHARS),
        message => message,
    };
    let status = reply.status.unwrap_or_else(|| {
        let has = |words: &[&str]| words.iter().any(|word| reply.code.contains(word));
        match () {
            () if has(&["overloaded"]) => 529,
            () if has(&["rate_limit", "too_many_requests", "quota"]) => 429,
            () if has(&["authentication", "invalid_api_key"]) => 401,
            () if has(&["permission"]) => 403,
            () if has(&["not_found"]) => 404,
            () if has(&["request_too_large"]) => 413,
            () if has(&["invalid_", "bad_request", "billing", "policy", "context_length"]) => 400,
            () => 500,
        }
    });
    classify(status, &reply, message, None, "the model's address")
}

fn classify(
    status: u16,
    reply: &ErrorReply,
    message: String,
    wait: Option<Duration>,
    url: &str,
) -> ProviderError {
    let message = match wait.filter(|wait| *wait > LONG_WAIT) {
        Some(wait) if wait.as_secs() >= 7_200 => {
            format!("{message} (retry after {} hours)", wait.as_secs().div_ceil(3_600))
        }
        Some(wait) => format!("{message} (retry after {} minutes)", wait.as_secs().div_ceil(60)),
        None => message,
    };
    let full = is_context_full(&reply.lower);
    let mentions =
        |words: &[&str]| words.iter().any(|word| reply.code.contains(word) || reply.lower.contains(word));
    match status {
        413 => ProviderError::ContextFull { message },
        // Some llama.cpp and Ollama versions report a full window as a server error.
        400 | 422 | 500 if mentions(&CONTEXT_WORDS) || (status != 500 && full) => {
            ProviderError::ContextFull { message }
        }
        400 | 404 | 422 | 500 if is_reasoning_rejected(reply) => ProviderError::ReasoningRejected { message },
        400 | 404 | 405 | 422 | 501 if is_wrong_endpoint(status, reply, url) => {
            ProviderError::WrongEndpoint { url: url.to_owned(), message }
        }
        402 | 403 | 429 | 500.. if mentions(&QUOTA_WORDS) => ProviderError::BadRequest { status, message },
        401 | 403 => ProviderError::Auth { status, message },
        404 => ProviderError::NotFound { url: url.to_owned(), message },
        402 => ProviderError::BadRequest { status, message },
        429 => ProviderError::RateLimited { status, message, retry_after: wait },
        408 | 409 | 425 | 500.. => ProviderError::Server { status, message, retry_after: wait },
        _ => ProviderError::BadRequest { status, message },
    }
}

fn is_reasoning_rejected(reply: &ErrorReply) -> bool {
    REASONING_WORDS
        .iter()
        .any(|row| row.iter().all(|word| reply.lower.contains(word) || reply.code.contains(word)))
}

/// Whether the endpoint at `url`, one of OpenAI's two, is not the one for this request, or not there at all.
fn is_wrong_endpoint(status: u16, reply: &ErrorReply, url: &str) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| reply.lower.contains(word));
    if url.ends_with(address::CHAT) {
        any(&USE_RESPONSES_WORDS)
    } else if url.ends_with(address::RESPONSES) {
        let missing = matches!(status, 404 | 405 | 501);
        let names_path = reply.lower.contains(address::RESPONSES);
        let names_model = any(&MODEL_WORDS) || reply.code.contains("model");
        any(&USE_CHAT_WORDS) || missing && (names_path || !names_model)
    } else {
        false
    }
}

/// Whether a message says in words of its own that a prompt has too many tokens, and not that an answer may have no more
/// of them, or that too many came in a minute.
fn is_context_full(lower: &str) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    lower.contains("token")
        && any(&["prompt", "input", "context", "messages"])
        && any(&["exceed", "too long", "too large", "too many", "less than", "at most", "larger than"])
        && !any(&[
            "per minute",
            "per day",
            "rate limit",
            "tpm",
            "quota",
            "output token",
            "completion token",
            "credit",
        ])
}

/// What a body says, whatever its form.
struct ErrorReply {
    message: String,
    /// The message in lower case.
    lower: String,
    /// Error code and type in lower case, joined by a space.
    code: String,
    /// A status number inside the body.
    status: Option<u16>,
}

impl ErrorReply {
    fn new(message: String, code: &str, status: Option<u16>) -> Self {
        Self { lower: message.to_lowercase(), message, code: code.to_lowercase(), status }
    }

    fn read(body: &str) -> Self {
        let trimmed = body.trim();
        match serde_json::from_str::<Value>(trimmed) {
            Ok(value) if value.is_object() => Self::of(value.get("error").unwrap_or(&value)),
            // Gemini's compatible endpoint wraps the object in an array.
            Ok(Value::Array(list)) => match list.first() {
                Some(first) => Self::of(first.get("error").unwrap_or(first)),
                None => Self::new(String::new(), "", None),
            },
            _ if looks_like_html(trimmed) => Self::new(html_summary(trimmed), "", None),
            _ => Self::new(trimmed.to_owned(), "", None),
        }
    }

    fn of(error: &Value) -> Self {
        let string = |key: &str| error[key].as_str().unwrap_or_default();
        let message = match error {
            Value::String(text) => text.clone(),
            _ => {
                let detail = &error["detail"];
                let own = [string("message"), detail.as_str().unwrap_or_default(), string("error")]
                    .into_iter()
                    .find(|text| !text.is_empty())
                    .map_or_else(|| field_fault(&detail[0]), str::to_owned);
                // OpenRouter hides the real cause here.
                match error["metadata"]["raw"].as_str() {
                    Some(raw) => format!("{own}: {raw}"),
                    None => own,
                }
            }
        };
        let status = [&error["code"], &error["status"], &error["status_code"]]
            .into_iter()
            .find_map(|status| status.as_u64().or_else(|| status.as_str()?.parse().ok()))
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (400..600).contains(number));
        Self::new(message, &format!("{} {}", string("code"), string("type")), status)
    }
}

/// What FastAPI says of a field: the fault and the way to it.
fn field_fault(entry: &Value) -> String {
    let way = entry["loc"].as_array().into_iter().flatten().map(|part| match part {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    });
    match (entry["msg"].as_str().unwrap_or_default(), way.collect::<Vec<_>>().join(".")) {
        (fault, way) if way.is_empty() => fault.to_owned(),
        (fault, way) => format!("{fault} ({way})"),
    }
}

/// Whether `text` is a web page and not an answer.
pub fn looks_like_html(text: &str) -> bool {
    let start = text.trim_start().get(..9).unwrap_or(text).to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

/// A web page in a few words: its title, else its first text.
pub fn html_summary(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|at| {
        let start = at + "<title>".len();
        Some(page[start..start + lower[start..].find("</title>")?].trim()).filter(|title| !title.is_empty())
    });
    if let Some(title) = title {
        return format!("a web page titled '{}'", text::one_line(title, 120));
    }
    let beginning: String = page.chars().take(4_000).collect();
    let texts = beginning.split('<').filter_map(|tag| Some(tag.split_once('>')?.1));
    format!("a web page: {}", text::one_line(&texts.collect::<Vec<_>>().join(" "), 120))
}

/// `message` on one line of bounded length, without the key.
fn display_message(message: &str, key: Option<&Secret>) -> String {
    text::one_line(&without_key(message, key), MESSAGE_CHARS)
}

/// `message` with the key's text, if it occurs, replaced.
pub fn without_key(message: &str, key: Option<&Secret>) -> String {
    match key.map(Secret::expose) {
        // A key as short as this is a placeholder of a local server; replacing it would garble messages.
        Some(key) if key.len() >= 6 => message.replace(key, "<key>"),
        _ => message.to_owned(),
    }
}

/// The server's wish in `retry-after-ms` or `retry-after` (seconds or an HTTP date).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str, unit: f64| {
        text.parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
    };
    if let Some(wait) = header("retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
        Some(SystemTime::from(date).duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> ProviderError {
        from_status(status, &HeaderMap::new(), body, "http://x/v1", Some(&Secret::new("sk-secret")))
    }

    #[test]
    fn full_context_in_many_words() {
        for body in [
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens"}"#,
            r#"{"detail":"Input is too long for requested model"}"#,
            r#"{"error":"input length exceeds maximum context length"}"#,
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000"}}"#,
            r#"[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum"}}]"#,
            "Your request exceeded model token limit: 131072",
            r#"{"error":{"message":"`inputs` must have less than 8193 tokens. Given: 10000"}}"#,
            r#"{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000"}}"#,
        ] {
            assert!(matches!(error(400, body), ProviderError::ContextFull { .. }), "{body}");
        }
        assert!(matches!(error(413, "<html>"), ProviderError::ContextFull { .. }));
        let rate = r#"{"error":{"message":"input tokens per minute exceed your limit"}}"#;
        assert!(matches!(error(400, rate), ProviderError::BadRequest { .. }));
        let output = r#"{"error":{"message":"max_tokens: 100000 > 8192, the maximum allowed number of output tokens"}}"#;
        assert!(matches!(error(400, output), ProviderError::BadRequest { .. }));
    }

    #[test]
    fn rejected_reasoning() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"The encrypted content gAAA...DQ== could not be verified.","code":"invalid_encrypted_content"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"The encrypted content for item rs_0a18 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","code":null}}"#,
            ),
            (
                404,
                r#"{"error":{"message":"Item with id 'rs_68b1' not found. Items are not persisted when `store` is set to false."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Item 'rs_68b1' of type 'reasoning' was provided without its required following item."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Item 'fc_68b1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_68b1'."}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."}}"#,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"Thought signature is not valid.","status":"INVALID_ARGUMENT"}}]"#,
            ),
        ] {
            assert!(matches!(error(status, body), ProviderError::ReasoningRejected { .. }), "{body}");
        }
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"Function call `LS` is missing a thought_signature in functionCall parts."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Invalid 'input[1].id': 'x'. Expected an ID that begins with 'rs'."}}"#,
            ),
            (400, r#"{"error":{"message":"`thinking.budget_tokens` must be less than `max_tokens`"}}"#),
        ] {
            assert!(matches!(error(status, body), ProviderError::BadRequest { .. }), "{body}");
        }
    }

    #[test]
    fn wrong_endpoints() {
        let at = |url: &str, status: u16, message: &str| {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            let error = from_status(status, &HeaderMap::new(), &body, url, None);
            matches!(error, ProviderError::WrongEndpoint { .. })
        };
        let (chat, responses) = ("https://x/v1/chat/completions", "https://x/v1/responses");
        for (status, message) in [
            (
                400,
                "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.",
            ),
            (400, "To use function tools, use /v1/responses or set reasoning_effort to 'none'."),
            (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
            (
                404,
                "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?",
            ),
            (400, "This model is only available in the Responses API."),
            (400, "The chatCompletion operation does not work with the specified model, gpt-5-codex."),
        ] {
            assert!(at(chat, status, message), "{message}");
            assert!(!at("https://x/v1/messages", status, message), "{message}");
        }
        for (status, message) in [
            (404, "Not Found"),
            (405, "Method Not Allowed"),
            (404, "Invalid URL (POST /v1/responses)"),
            (404, "this model server has no /v1/responses"),
            (501, "not implemented"),
            (400, "use /v1/chat/completions for this model"),
        ] {
            assert!(at(responses, status, message), "{message}");
        }
        for (status, message) in [
            (404, "The model `x` does not exist or you do not have access to it."),
            (404, "No endpoints found for x."),
            (404, "The API deployment for this resource does not exist."),
            (400, "Unsupported parameter: 'temperature'"),
        ] {
            assert!(!at(responses, status, message), "{message}");
        }
        assert!(!at(chat, 404, "Not Found"));
    }

    #[test]
    fn statuses_have_meanings() {
        assert!(matches!(error(401, "{}"), ProviderError::Auth { .. }));
        assert!(matches!(error(404, ""), ProviderError::NotFound { .. }));
        assert!(matches!(error(529, "{}"), ProviderError::Server { .. }));
        assert!(matches!(error(418, "{}"), ProviderError::BadRequest { .. }));
        let quota = r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#;
        assert!(matches!(error(429, quota), ProviderError::BadRequest { .. }));
        assert!(matches!(error(429, "slow down"), ProviderError::RateLimited { .. }));
    }

    #[test]
    fn short_messages_without_the_key() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-secret.\nFind yours."}}"#;
        assert_eq!(
            error(401, body).to_string(),
            "API key rejected (HTTP 401): Incorrect API key provided: <key>. Find yours."
        );
        let page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>";
        assert_eq!(
            error(502, page).to_string(),
            "server error (HTTP 502): a web page titled '502 Bad Gateway'"
        );
        assert!(error(500, &"x".repeat(100_000)).to_string().len() < 600);
        assert!(error(400, "").to_string().ends_with("no reason given"));
    }

    #[test]
    fn long_waits_are_shown() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "3601".parse().unwrap());
        let told = from_status(429, &headers, "slow down", "http://x/v1", None).to_string();
        assert_eq!(told, "rate limit reached (HTTP 429): slow down (retry after 61 minutes)");
    }

    #[test]
    fn retry_after_forms() {
        let wait = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_470))
        };
        assert_eq!(wait("retry-after", "2.5"), Some(Duration::from_millis(2_500)));
        assert_eq!(wait("retry-after-ms", "40"), Some(Duration::from_millis(40)));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(10)));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("retry-after", "-1"), None);
        assert_eq!(wait("retry-after", "soon"), None);
    }

    #[test]
    fn errors_inside_a_stream() {
        let overloaded = serde_json::json!({"type": "overloaded_error", "message": "Overloaded"});
        assert!(matches!(from_event(&overloaded, None), ProviderError::Server { status: 529, .. }));
        let coded = serde_json::json!({"code": 429, "message": "slow"});
        assert!(matches!(from_event(&coded, None), ProviderError::RateLimited { .. }));
        let full = serde_json::json!({"message": "context length exceeded"});
        assert!(matches!(from_event(&full, None), ProviderError::ContextFull { .. }));
    }
}
