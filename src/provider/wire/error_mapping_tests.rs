//! Tests of `error_mapping.rs`.
#![allow(clippy::unwrap_used)]

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
        assert!(matches!(error(400, body), ProviderError::ContextFull(_)), "{body}");
    }
    assert!(matches!(error(413, "<html>"), ProviderError::ContextFull(_)));
    let rate = r#"{"error":{"message":"input tokens per minute exceed your limit"}}"#;
    assert!(matches!(error(400, rate), ProviderError::BadRequest { .. }));
    let output =
        r#"{"error":{"message":"max_tokens: 100000 > 8192, the maximum allowed number of output tokens"}}"#;
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
        assert!(matches!(error(status, body), ProviderError::ReasoningRejected(_)), "{body}");
    }
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"Function call `LS` is missing a thought_signature in functionCall parts."}}"#,
        ),
        (400, r#"{"error":{"message":"Invalid 'input[1].id': 'x'. Expected an ID that begins with 'rs'."}}"#),
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
    let large = error(
        429,
        r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 34071.","type":"tokens","code":"rate_limit_exceeded"}}"#,
    );
    assert_eq!(large.context_limit(), Some(30_000), "{large}");
    let page = "<html><head><title>Blocked: no access</title></head></html>";
    for (body, rejected) in [
        (
            r#"{"error":{"message":"Your API key does not have permission to use the specified resource."}}"#,
            true,
        ),
        ("", true),
        (
            r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}"#,
            false,
        ),
        (
            r#"{"error":{"code":403,"message":"a/b requires moderation. Your input was flagged for \"violence\"."}}"#,
            false,
        ),
        (page, false),
    ] {
        let error = error(403, body);
        assert_eq!(matches!(error, ProviderError::Auth { .. }), rejected, "{error}");
        assert!(rejected || error.hint(true).contains("a proxy on the way"), "{error}");
    }
    let credit =
        error(400, r#"{"error":{"message":"Your credit balance is too low to access the Anthropic API."}}"#);
    assert!(credit.hint(true).starts_with("add credit"), "{credit}");
}

#[test]
fn limits_per_minute_pass_and_spent_credit_does_not() {
    let wait = |body: &str| match error(429, body) {
        ProviderError::RateLimited { retry_after, .. } => Some(retry_after),
        _ => None,
    };
    let seconds = |seconds: f64| Some(Some(Duration::from_secs_f64(seconds)));
    let openai = r#"{"error":{"code":"rate_limit_exceeded","type":"requests","message":"Rate limit reached on requests per min. Please try again in 20s. Visit https://platform.openai.com/account/billing to add a payment method."}}"#;
    assert_eq!(wait(openai), seconds(20.0));
    assert_eq!(wait(&openai.replace("20s", "20ms")), seconds(0.02));
    assert_eq!(wait(&openai.replace("20s", "6m0s")), seconds(360.0));
    let gemini = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}]"#;
    assert_eq!(wait(gemini), seconds(26.0));
    assert_eq!(wait(&gemini.replace("retryDelay", "delay")), Some(None));
    assert_eq!(wait(&gemini.replace("PerMinute", "PerDay")), None);
    assert_eq!(wait(&gemini.replace("details.", "details. Quota exceeded, limit: 0, model: x")), None);
    let bare =
        r#"{"error":{"message":"You exceeded your current quota, please check your billing details."}}"#;
    assert_eq!(wait(bare), Some(None));
    let moonshot =
        r#"{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}"#;
    assert_eq!(wait(moonshot), None);
    let spent = r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota. Please try again in 1s."}}"#;
    assert_eq!(wait(spent), None);
    let event = serde_json::json!({"code": "rate_limit_exceeded", "message": "Please try again in 1.5s. See billing."});
    assert!(matches!(
        from_event(&event, None),
        ProviderError::RateLimited { retry_after: Some(wait), .. } if wait == Duration::from_millis(1_500)
    ));
}

#[test]
fn short_messages_without_the_key() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-secret.\nFind yours."}}"#;
    assert_eq!(
        error(401, body).to_string(),
        "API key rejected (HTTP 401): Incorrect API key provided: <key>. Find yours."
    );
    let page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>";
    assert_eq!(error(502, page).to_string(), "server error (HTTP 502): a web page titled '502 Bad Gateway'");
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
    assert!(matches!(from_event(&full, None), ProviderError::ContextFull(_)));
}
