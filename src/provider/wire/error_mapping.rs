//! Turns server errors (OpenAI's and Anthropic's objects, FastAPI's `detail`, Ollama's bare string, a proxy's
//! HTML page) into a `ProviderError` with a one-line message that never shows the key.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::address;
use base::format::lists;
use base::model::provider::ProviderError;
use base::pattern::Pattern;
use base::secret::Secret;
use base::text;

const MESSAGE_CHARS: usize = 400;

/// The user is informed if a server asks for a longer wait.
const LONG_WAIT: Duration = Duration::from_secs(60);

fn words(list: &str) -> impl Iterator<Item = &'static str> {
    lists::list(include_str!("error_words.txt"), list)
}

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
            let place =
                reqwest::Url::parse(url).and_then(|url| url.join(place)).map_or(place.to_owned(), Into::into);
            let place = place.split(['?', '#']).next().unwrap_or_default();
            let place = text::one_line(&without_key(place, key), 200);
            format!("it redirects to {place}; set --base-url to that address")
        }
        (true, _) => "no reason given".to_owned(),
        (false, _) => message,
    };
    classify(status, &reply, message, retry_after(headers, SystemTime::now()), url)
}

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
            () if has(&["rate_limit", "too_many_requests", "quota", "resource_exhausted"]) => 429,
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
    let wait = wait.or(reply.wait);
    let message = match wait.filter(|wait| *wait > LONG_WAIT) {
        Some(wait) if wait.as_secs() < 120 => format!("{message} (retry after {} s)", wait.as_secs()),
        Some(wait) if wait.as_secs() >= 7_200 => {
            format!("{message} (retry after {} hours)", wait.as_secs().div_ceil(3_600))
        }
        Some(wait) => format!("{message} (retry after {} minutes)", wait.as_secs().div_ceil(60)),
        None => message,
    };
    let full = is_context_full(&reply.lower);
    // Rate limits pass after a while.
    let is_limit = ["rate_limit", "resource_exhausted"].iter().any(|code| reply.code.contains(code));
    let mentions = |list: &str| words(list).any(|word| reply.mentions(word));
    let reasoning_rejected =
        || words("reasoning rejected").any(|row| row.split(" + ").all(|word| reply.mentions(word)));
    match status {
        413 => ProviderError::ContextFull(message),
        // More than the limit per minute in one request, which no wait helps (OpenAI; Groq says it with 413).
        429 if reply.lower.contains("request too large") => ProviderError::ContextFull(message),
        // Some llama.cpp and Ollama versions report a full window as a server error.
        400 | 422 | 500 if mentions("context full") || (status != 500 && full) => {
            ProviderError::ContextFull(message)
        }
        400 | 404 | 422 | 500 | 501 if mentions("tools refused") => ProviderError::ToolsRefused(message),
        400 | 404 | 422 | 500 if reasoning_rejected() => ProviderError::ReasoningRejected(message),
        400 | 404 | 405 | 422 | 501 if is_wrong_endpoint(status, reply, url) => {
            ProviderError::WrongEndpoint { url: url.to_owned(), message }
        }
        429 if reply.spent || !(wait.is_some() || is_limit) && mentions("quota") => {
            ProviderError::BadRequest { status, message }
        }
        402 | 403 | 500.. if mentions("quota") || mentions("billing") => {
            ProviderError::BadRequest { status, message }
        }
        // A region, a moderation or a proxy on the way.
        403 if !reply.message.is_empty()
            && (message.starts_with("a web page") || !mentions("about access")) =>
        {
            ProviderError::BadRequest { status, message }
        }
        401 | 403 => ProviderError::Auth { status, message },
        404 => ProviderError::NotFound { url: url.to_owned(), message },
        402 => ProviderError::BadRequest { status, message },
        429 => ProviderError::RateLimited { status, message, retry_after: wait },
        408 | 409 | 425 | 500.. => ProviderError::Server { status, message, retry_after: wait },
        _ => ProviderError::BadRequest { status, message },
    }
}

/// Whether `url` is the wrong one of OpenAI's two endpoints for this request, or doesn't exist.
fn is_wrong_endpoint(status: u16, reply: &ErrorReply, url: &str) -> bool {
    let any = |list: &str| words(list).any(|word| reply.lower.contains(word));
    if url.ends_with(address::CHAT) {
        any("use responses")
    } else if url.ends_with(address::RESPONSES) {
        let missing = matches!(status, 404 | 405 | 501);
        let names_path = reply.lower.contains(address::RESPONSES);
        let names_model = any("about models") || reply.code.contains("model");
        any("use chat") || missing && (names_path || !names_model)
    } else {
        false
    }
}

/// Too many tokens in the prompt, not in the answer or per minute.
fn is_context_full(lower: &str) -> bool {
    let any = |list: &str| words(list).any(|word| lower.contains(word));
    lower.contains("token") && any("of one request") && any("too many") && !any("of something else")
}

struct ErrorReply {
    message: String,
    lower: String,
    /// Code and type in lowercase, joined by a space.
    code: String,
    status: Option<u16>,
    /// The wait that the reply itself asks for.
    wait: Option<Duration>,
    /// A quota that isn't renewed soon.
    spent: bool,
}

/// "Please try again in 6m0s", "Please retry in 11.6s".
static WAIT: Pattern = Pattern::new(include_str!("wait.regex"));

fn wait_in(text: &str) -> Option<Duration> {
    let found = WAIT.captures(text)?;
    let number = |name: &str, unit: f64| {
        found.name(name).and_then(|found| found.as_str().parse::<f64>().ok()).map(|number| number * unit)
    };
    let parts = [number("ms", 0.001), number("h", 3_600.0), number("m", 60.0), number("s", 1.0)];
    let known = parts.iter().any(Option::is_some);
    known.then(|| Duration::try_from_secs_f64(parts.into_iter().flatten().sum()).ok())?
}

impl ErrorReply {
    fn new(message: String, code: &str, status: Option<u16>) -> Self {
        let (lower, code) = (message.to_lowercase(), code.to_lowercase());
        // A free tier without access has a limit of 0.
        let spent = words("spent codes").any(|known| code.contains(known)) || lower.contains("limit: 0,");
        Self { wait: wait_in(&lower), lower, message, code, status, spent }
    }

    fn mentions(&self, words: &str) -> bool {
        self.code.contains(words) || self.lower.contains(words)
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
                // OpenAI's messages don't always name the field.
                let own = match error["param"].as_str() {
                    Some(field) if !field.contains('[') && !own.contains(field) => format!("{own} ({field})"),
                    _ => own,
                };
                // OpenRouter's real cause.
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
        let code = [string("code"), string("type"), string("status")].join(" ");
        let mut reply = Self::new(message, &code, status);
        // Google's RetryInfo and QuotaFailure.
        for detail in error["details"].as_array().into_iter().flatten() {
            if let Some(delay) = detail["retryDelay"].as_str() {
                reply.wait = reply.wait.or_else(|| wait_in(&format!("retry in {delay}")));
            }
            let quotas = detail["violations"].as_array().into_iter().flatten();
            let daily = |quota: &Value| quota["quotaId"].as_str().is_some_and(|id| id.contains("PerDay"));
            reply.spent |= quotas.into_iter().any(daily);
        }
        reply
    }
}

/// FastAPI's message about a field, with the path to it.
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

pub fn looks_like_html(text: &str) -> bool {
    let start = text.trim_start().get(..9).unwrap_or(text).to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

/// The page's title, or else its first text.
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

fn display_message(message: &str, key: Option<&Secret>) -> String {
    text::one_line(&without_key(message, key), MESSAGE_CHARS)
}

pub fn without_key(message: &str, key: Option<&Secret>) -> String {
    match key.map(Secret::expose) {
        // Such a short key is a local server's placeholder; replacing it would garble messages.
        Some(key) if key.len() >= 6 => message.replace(key, "<key>"),
        _ => message.to_owned(),
    }
}

/// From `retry-after-ms` or `retry-after` (seconds or an HTTP date).
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
#[path = "error_mapping_tests.rs"]
mod tests;
