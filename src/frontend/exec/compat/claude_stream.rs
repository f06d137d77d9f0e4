//! Text as it arrives, as the events of Anthropic's Messages API that Claude's `stream_event` messages carry.

use serde_json::{Value, json};

#[derive(Default)]
pub struct PartialMessage {
    begun: bool,
    blocks: usize,
    /// The kind of the block that grows.
    open: Option<&'static str>,
}

impl PartialMessage {
    /// `kind` is `text` or `thinking`.
    pub fn delta(&mut self, kind: &'static str, text: &str, id: &str, model: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            events.push(json!({"type": "message_start", "message": {
                "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
            }}));
        }
        if self.open != Some(kind) {
            events.extend(self.end_block());
            self.open = Some(kind);
            let mut block = json!({"type": kind, kind: ""});
            if kind == "thinking" {
                block["signature"] = "".into();
            }
            events.push(json!({"type": "content_block_start", "index": self.blocks, "content_block": block}));
        }
        let delta = json!({"type": format!("{kind}_delta"), kind: text});
        events.push(json!({"type": "content_block_delta", "index": self.blocks, "delta": delta}));
        events
    }

    pub fn end_block(&mut self) -> Vec<Value> {
        if self.open.take().is_none() {
            return Vec::new();
        }
        self.blocks += 1;
        vec![json!({"type": "content_block_stop", "index": self.blocks - 1})]
    }

    pub fn end(&mut self, stop_reason: &str) -> Vec<Value> {
        let mut events = self.end_block();
        if std::mem::take(self).begun {
            let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
            events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}));
            events.push(json!({"type": "message_stop"}));
        }
        events
    }
}
