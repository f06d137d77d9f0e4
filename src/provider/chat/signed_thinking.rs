//! Assembles thinking in two forms that gateways sign; a signature covers a whole block.
//! - `reasoning_details` (OpenRouter; openrouter.ai/docs use-cases/reasoning-tokens, and agno#8794 on its
//!   stream, July 2026): pieces of a block share type and index; the signature comes in a last piece, which
//!   may have no text. Encrypted blocks come complete, several with one index.
//! - `thinking_blocks` (LiteLLM; docs.litellm.ai reasoning_content, and litellm#29428 with its correction
//!   #31022, June 2026): pieces with an empty signature, then the signature, alone or with the full text.

use serde_json::{Map, Value};

const DETAILS: &str = "reasoning_details";
const BLOCKS: &str = "thinking_blocks";
/// Fields that grow with each piece.
const TEXTS: [&str; 3] = ["text", "summary", "thinking"];

#[derive(Debug, Default)]
pub struct SignedThinking {
    details: Vec<Value>,
    blocks: Vec<Value>,
    bytes: usize,
}

impl SignedThinking {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.details.is_empty() && self.blocks.is_empty()
    }

    /// `whole`: a reply with finished blocks instead of a stream's piece. Returns its text.
    pub fn push(&mut self, message: &Value, whole: bool) -> String {
        let mut said = String::new();
        for piece in list(&message[DETAILS]) {
            self.bytes += piece.to_string().len();
            said.extend(["text", "summary"].iter().filter_map(|key| piece[key].as_str()));
            let at = self.continued_detail(piece).filter(|_| !whole);
            put(&mut self.details, at, piece);
        }
        // Both places may have the same blocks.
        let blocks = [&message[BLOCKS], &message["provider_specific_fields"][BLOCKS]];
        for piece in blocks.into_iter().find(|blocks| blocks.is_array()).into_iter().flat_map(list) {
            self.bytes += piece.to_string().len();
            let open = self.blocks.last_mut().filter(|block| !whole && is_open(block) && is_open_kind(piece));
            let before = open.as_ref().and_then(|block| block["thinking"].as_str()).unwrap_or_default();
            let text = piece["thinking"].as_str().unwrap_or_default();
            // This repeats the full text.
            if let Some(rest) = text.strip_prefix(before).filter(|_| is_signed(piece)) {
                said.push_str(rest);
                match open {
                    Some(block) => *block = piece.clone(),
                    None => self.blocks.push(piece.clone()),
                }
            } else {
                said.push_str(text);
                let at = open.is_some().then(|| self.blocks.len() - 1);
                put(&mut self.blocks, at, piece);
            }
        }
        said
    }

    fn continued_detail(&self, piece: &Value) -> Option<usize> {
        let same = |block: &Value| {
            let ids = (block["id"].as_str(), piece["id"].as_str());
            block["type"] == piece["type"]
                && block["index"] == piece["index"]
                && piece["type"] != "reasoning.encrypted"
                && (ids.0 == ids.1 || ids.0.is_none() || ids.1.is_none())
        };
        if piece["index"].is_null() {
            // Only the last block, and only while it is open.
            let last = self.details.len().checked_sub(1)?;
            return (same(&self.details[last]) && !is_signed(&self.details[last])).then_some(last);
        }
        self.details.iter().rposition(same)
    }

    /// The finished blocks, and their field name.
    pub fn take(&mut self) -> Option<(&'static str, Vec<Value>)> {
        // Claude's blocks are refused without a signature; other models' thinking is sent back as text.
        self.blocks.retain(|block| !is_open(block));
        match (std::mem::take(&mut self.blocks), std::mem::take(&mut self.details)) {
            (blocks, _) if !blocks.is_empty() => Some((BLOCKS, blocks)),
            (_, details) if !details.is_empty() => Some((DETAILS, details)),
            _ => None,
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_signed(block: &Value) -> bool {
    block["signature"].as_str().is_some_and(|signature| !signature.is_empty())
}

fn is_open_kind(block: &Value) -> bool {
    block["type"] == "thinking"
}

fn is_open(block: &Value) -> bool {
    is_open_kind(block) && !is_signed(block)
}

fn put(blocks: &mut Vec<Value>, at: Option<usize>, piece: &Value) {
    match (at.and_then(|at| blocks.get_mut(at)).and_then(Value::as_object_mut), piece.as_object()) {
        (Some(block), Some(piece)) => piece.iter().for_each(|(key, value)| grow(block, key, value)),
        _ => blocks.push(piece.clone()),
    }
}

fn grow(block: &mut Map<String, Value>, key: &str, value: &Value) {
    match (block.get_mut(key), value) {
        (_, Value::Null) => {}
        (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&key) => text.push_str(more),
        (Some(Value::String(text)), Value::String(new)) if key == "signature" && !new.is_empty() => {
            text.clone_from(new);
        }
        (None | Some(Value::Null), value) => {
            block.insert(key.to_owned(), value.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(field: &str, pieces: &[Value]) -> (String, Value) {
        let mut thinking = SignedThinking::default();
        let said = pieces.iter().map(|piece| thinking.push(&json!({field: [piece]}), false)).collect();
        (said, thinking.take().map_or(Value::Null, |(name, blocks)| json!({name: blocks})))
    }

    #[test]
    fn details_by_type_and_index() {
        let text = |text: &str, index: u64| json!({"type": "reasoning.text", "text": text, "index": index});
        let sealed = |id: &str| json!({"type": "reasoning.encrypted", "data": "e", "id": id, "index": 0});
        let signature = json!({"type": "reasoning.text", "signature": "S", "text": null, "index": 0});
        let pieces = [
            text("Let", 0),
            text(" me", 0),
            signature,
            text("Then", 1),
            sealed("a"),
            sealed("b"),
            text("!", 1),
        ];
        let (said, blocks) = merged(DETAILS, &pieces);
        assert_eq!(said, "Let meThen!");
        let expected = json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "Let me", "index": 0, "signature": "S"}, text("Then!", 1), sealed("a"), sealed("b"),
        ]});
        assert_eq!(blocks, expected);
    }

    #[test]
    fn details_without_an_index() {
        let summary = |text: &str| json!({"type": "reasoning.summary", "summary": text});
        let text = json!({"type": "reasoning.text", "text": "c"});
        let (_, blocks) = merged(DETAILS, &[summary("a"), summary("b"), text.clone(), summary("d")]);
        assert_eq!(blocks, json!({"reasoning_details": [summary("ab"), text, summary("d")]}));
    }

    #[test]
    fn blocks_of_both_versions() {
        let block = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
        let hidden = json!({"type": "redacted_thinking", "data": "x"});
        let (one, two) = (block("Step 1.", "s1"), block("Two", "s2"));
        for pieces in [
            vec![
                block("Step", ""),
                block(" 1.", ""),
                block("", "s1"),
                hidden.clone(),
                block("Two", ""),
                two.clone(),
            ],
            vec![one.clone(), hidden.clone(), two.clone()],
        ] {
            let (said, blocks) = merged(BLOCKS, &pieces);
            assert_eq!(said, "Step 1.Two");
            assert_eq!(blocks, json!({"thinking_blocks": [one, hidden, two]}));
        }
        assert_eq!(merged(BLOCKS, &[block("never signed", "")]).1, Value::Null);
        assert_eq!(merged(BLOCKS, &[block("", "s")]).1, json!({"thinking_blocks": [block("", "s")]}));
    }
}
