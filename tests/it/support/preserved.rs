//! A server that binds its reasoning to what stood before it, as Anthropic's preserved thinking does
//! (platform.claude.com/docs/build-with-claude/preserved-thinking, November 2026): a block that comes back behind anything else
//! than it was made behind is refused. The oldest blocks may be missing; cache marks don't count. OpenAI documents no such
//! check, but a history that passes it is one that its reasoning fits.

use serde_json::{Value, json};

use super::answer::Dialect;

/// A piece of a request with who says it, and the number of the reply that it is reasoning of.
struct Piece {
    role: String,
    value: Value,
    reasoning: Option<usize>,
}

fn pieces(dialect: Dialect, body: &Value) -> Vec<Piece> {
    let list = |key: &str| body[key].as_array().cloned().unwrap_or_default();
    let piece = |role: &str, mut value: Value| {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("cache_control");
        }
        let mark = value["signature"].as_str().or_else(|| value["encrypted_content"].as_str());
        let number = mark.and_then(|mark| mark.split('-').nth(1)).and_then(|number| number.parse().ok());
        let thinks = matches!(value["type"].as_str(), Some("thinking" | "redacted_thinking" | "reasoning"));
        Piece { role: role.to_owned(), value, reasoning: number.filter(|_| thinks) }
    };
    let head = |key: &str| list(key).into_iter().map(|value| piece(key, value)).collect::<Vec<_>>();
    let mut all = head("tools");
    match dialect {
        Dialect::Anthropic => {
            all.extend(head("system"));
            for message in list("messages") {
                let role = message["role"].as_str().unwrap_or_default();
                let blocks = message["content"].as_array().cloned().unwrap_or_default();
                all.extend(blocks.into_iter().map(|block| piece(role, block)));
            }
        }
        Dialect::Responses => {
            all.push(piece("instructions", body["instructions"].clone()));
            all.extend(list("input").into_iter().map(|item| piece("item", item)));
        }
        Dialect::Chat => {}
    }
    all
}

/// Why the request with `body` is refused, if it is; `earlier` are the bodies of the requests before it.
pub fn refusal(dialect: Dialect, earlier: &[Value], body: &Value) -> Option<String> {
    let now = pieces(dialect, body);
    let plain = |pieces: &[Piece]| -> Vec<(String, Value)> {
        let kept = pieces.iter().filter(|piece| piece.reasoning.is_none());
        kept.map(|piece| (piece.role.clone(), piece.value.clone())).collect()
    };
    let blocks =
        |pieces: &[Piece]| -> Vec<usize> { pieces.iter().filter_map(|piece| piece.reasoning).collect() };
    for (at, number) in now.iter().enumerate().filter_map(|(at, piece)| Some((at, piece.reasoning?))) {
        let Some(made) = number.checked_sub(1).and_then(|number| earlier.get(number)) else {
            return Some(format!("block {at} was never made"));
        };
        let made = pieces(dialect, made);
        // What the same reply said before the block.
        let (before, now_before) = (plain(&made), plain(&now[..at]));
        let own = now_before.get(before.len()..).unwrap_or_default();
        let same = now_before.starts_with(&before)
            && own.iter().all(|(role, _)| role == "assistant" || role == "item");
        let mut others = blocks(&now[..at]);
        others.retain(|other| *other != number);
        if !same || !blocks(&made).ends_with(&others) {
            return Some(format!(
                "messages.{at}.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                 conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
            ));
        }
    }
    None
}

/// The refusal as an error of the dialect.
pub fn error(dialect: Dialect, message: &str) -> String {
    let error = json!({"type": "invalid_request_error", "message": message});
    match dialect {
        Dialect::Anthropic => json!({"type": "error", "error": error}),
        _ => json!({"error": {"message": "The encrypted content could not be verified.", "code": "invalid_encrypted_content"}}),
    }
    .to_string()
}
