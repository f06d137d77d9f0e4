//! Finds the window that a server names when it refuses a request as too long. The words around a number tell
//! whether it is the limit.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::Pattern;

/// Most reliable first.
static WAYS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let ways = [
        // `9000 > 8192`, `must be <= 4096`
        r"[<>]=?\s*(\d{4,8})\b",
        // `should be [1, 30720]`
        r"\[\s*\d+\s*,\s*(\d{4,8})\s*\]",
        // `maximum context length is 8192 tokens`, `n_ctx = 4096`, `allowed (8192)`, `less than 8193`
        r"(?:maximum|max|limit|at most|less than|up to|allowed|window|context length|context size|n_ctx)[^0-9.,;]{0,30}(\d{4,8})\b",
    ];
    ways.iter().filter_map(|way| Regex::new(way).ok()).collect()
});

pub fn in_message(message: &str) -> Option<u64> {
    // `200,000` is one number.
    let plain = thousands(&message.to_lowercase());
    WAYS.iter().find_map(|way| way.captures(&plain)?.get(1)?.as_str().parse().ok())
}

fn thousands(text: &str) -> String {
    static COMMA: Pattern = Pattern::new(r"(\d),(\d{3})\b");
    COMMA.replace_all(text, "$1$2").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_limits_among_other_numbers() {
        for (message, expected) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8192),
            ),
            ("prompt is too long: 210,123 tokens > 200,000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it",
                Some(200_000),
            ),
            ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", Some(4096)),
            ("`inputs` must have less than 8193 tokens. Given: 9000", Some(8193)),
            ("Input token count (9000) exceeds the maximum number of tokens allowed (8192).", Some(8192)),
            ("Requested tokens (5000) exceed context window of 4096", Some(4096)),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            (
                "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
                Some(8192),
            ),
            ("Too many tokens in the prompt. Max 32768.", Some(32_768)),
            ("Please reduce the length of the messages.", None),
            ("Prompt exceeds max length", None),
            ("your 9000 tokens are too many", None),
        ] {
            assert_eq!(in_message(message), expected, "{message}");
        }
    }
}
