//! What Chat Completions servers demand of earlier messages. Reasoning is sent back only to the server that made it, under the
//! same field name, and in messages that also have calls. Some servers refuse a history without it, others one with it:
//! - Kimi and GLM want `reasoning_content` with calls (kimi-cli#2446 and #2498, which want it in every assistant message where
//!   thinking is preserved), DeepSeek in all messages of a turn with calls, the answer too (api-docs.deepseek.com
//!   thinking_mode). A space replaces missing reasoning, because gateways drop an empty field (nanobot#946).
//! - Gemini wants the signature of a step's first call (ai.google.dev/gemini-api/docs/thought-signatures),
//!   and accepts a fixed word for calls that it didn't make.
//! - Mistral and Groq refuse unknown fields.
//! - Mistral wants an assistant's message between results and the user, and call ids of nine characters (zed#37021,
//!   hermes-agent#20154); templates for its open models want one between any two messages of the user (lemonade#1420).
//! - Claude caches only up to marks, also behind gateways; in parts of results, too (openrouter.ai/docs prompt-caching,
//!   hermes-agent#57845).
//!
//! The model table has the defaults; missing reasoning is added after an error, refused fields are handled in `learned/fields.rs`.
//! Read in November 2026. A rule that depended on the current turn would change old bytes, and so break the prompt cache.

use serde_json::{Value, json};

use base::config::provider::models::{self, Api, Replay};
use base::model::fingerprint::Fingerprint;
use base::model::item::Reasoning;
use base::model::provider::ProviderError;

pub const OPAQUE_KIND: &str = "openai-reasoning-content";
/// The field name for thinking inside the content.
pub const INLINE: &str = "content";
/// Servers' additions to their calls, which must be sent back.
pub const CALL_EXTRAS: [&str; 2] = ["extra_content", "provider_specific_fields"];

const CONTENT: &str = "reasoning_content";
/// Stands where a server wants an assistant's message.
const BRIDGE: &str = "OK.";
const MADE_UP_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Optional,
    WithCalls,
    Everywhere,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Bridges {
    #[default]
    Never,
    AfterResults,
    /// After results and messages of the user.
    Always,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    content: Wanted,
    signature: bool,
    no_reasoning: bool,
    no_extras: bool,
    bridges: Bridges,
    short_ids: bool,
    /// Whether marks show what is to be cached.
    pub marks: bool,
    /// Whether a key tells which requests share a cache.
    pub key: bool,
}

impl Demands {
    /// `strict`: the server refuses unknown fields.
    pub fn at(strict: bool, model: &str) -> Self {
        if strict {
            return Self { no_reasoning: true, no_extras: true, ..Self::default() };
        }
        let Some(facts) = models::facts(model) else { return Self::default() };
        let usual = Self { marks: facts.api == Api::Messages, ..Self::default() };
        match facts.replay {
            None => usual,
            Some(Replay::Content) => Self { content: Wanted::WithCalls, ..usual },
            Some(Replay::Everywhere) => Self { content: Wanted::Everywhere, ..usual },
            Some(Replay::Signature) => Self { signature: true, ..usual },
            Some(Replay::Order) => Self { bridges: Bridges::AfterResults, short_ids: true, ..usual },
        }
    }

    /// `translates`: a gateway that converts reasoning to each vendor's form.
    pub fn of_server(self, translates: bool, key: bool) -> Self {
        let replayed = Self { key, ..self };
        if translates { Self { content: Wanted::Optional, signature: false, ..replayed } } else { replayed }
    }

    /// Adds a demand from an error; `None` if it isn't new.
    pub fn after(self, error: &ProviderError) -> Option<Self> {
        let message = match error {
            ProviderError::BadRequest { message, .. }
            | ProviderError::ReasoningRejected(message)
            | ProviderError::Server { message, .. } => message.to_lowercase(),
            _ => return None,
        };
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        const MISSING: [&str; 6] =
            ["missing", "must be passed back", "must include", "must contain", "required", "requires"];
        let next = if says(&["thought_signature", "thought signature"]) && says(&MISSING) {
            Self { signature: true, no_extras: false, ..self }
        } else if says(&[CONTENT]) && says(&MISSING) {
            Self { content: Wanted::Everywhere, no_reasoning: false, ..self }
        } else if says(&["roles must alternate"]) {
            Self { bridges: Bridges::Always, ..self }
        } else if says(&["after role 'tool'"]) && self.bridges == Bridges::Never {
            Self { bridges: Bridges::AfterResults, ..self }
        } else if says(&["with a length of 9"]) {
            Self { short_ids: true, ..self }
        } else if says(&["content"]) && says(&["string"]) {
            Self { marks: false, ..self }
        } else {
            self
        };
        (next != self).then_some(next)
    }

    /// The messages in an order and with ids that the server accepts. Later messages don't change earlier ones.
    pub fn arrange(self, messages: Vec<Value>) -> Vec<Value> {
        let mut arranged: Vec<Value> = Vec::with_capacity(messages.len());
        for mut message in messages {
            let last = arranged.last().and_then(|last| last["role"].as_str());
            let bridged = match last {
                Some("tool") => self.bridges != Bridges::Never,
                Some("user") => self.bridges == Bridges::Always,
                _ => false,
            };
            if bridged && message["role"] == "user" {
                arranged.push(json!({"role": "assistant", "content": BRIDGE}));
            }
            if self.short_ids {
                let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
                calls.into_iter().flatten().for_each(|call| shorten(&mut call["id"]));
                if message["role"] == "tool" {
                    shorten(&mut message["tool_call_id"]);
                }
            }
            arranged.push(message);
        }
        arranged
    }

    /// Adds reasoning to its message and calls, with what the server accepts in place of missing parts.
    pub fn apply(self, reasoning: &[&Reasoning], message: &mut Value, calls: &mut [Value]) {
        let own = reasoning.iter().filter_map(|reasoning| {
            let opaque = reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)?;
            Some((&*reasoning.text, opaque))
        });
        if !self.no_extras {
            own.clone().for_each(|(_, opaque)| add_extras(opaque, calls));
        }
        let everywhere = self.content == Wanted::Everywhere;
        if !self.no_reasoning && (everywhere || !calls.is_empty()) {
            for (text, opaque) in own {
                add_reasoning(text, opaque, everywhere, message);
            }
        }
        let has = |fields: [&str; 2]| fields.iter().any(|field| !message[*field].is_null());
        let sealed = has(["reasoning_details", "thinking_blocks"]);
        let replayed = sealed || has([CONTENT, "reasoning"]);
        let wanted = match self.content {
            Wanted::Optional => false,
            Wanted::WithCalls => !calls.is_empty() && !replayed,
            Wanted::Everywhere => message[CONTENT].is_null(),
        };
        if wanted {
            message[CONTENT] = json!(" ");
        }
        // A gateway finds its calls' signatures in the signed blocks.
        if self.signature
            && !sealed
            && !calls.iter().any(|call| CALL_EXTRAS.iter().any(|extra| call[*extra].is_object()))
            && let Some(first) = calls.first_mut()
        {
            first["extra_content"] = json!({"google": {"thought_signature": MADE_UP_SIGNATURE}});
        }
    }
}

fn shorten(id: &mut Value) {
    let known = id.as_str().unwrap_or_default();
    if known.len() != 9 || !known.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        *id = json!(Fingerprint::of(&known).to_string()[..9]);
    }
}

fn add_extras(opaque: &Value, calls: &mut [Value]) {
    for call in calls {
        let Some(extras) = call["id"].as_str().and_then(|id| opaque["extras"].get(id)) else { continue };
        let fields: Vec<_> =
            CALL_EXTRAS.iter().filter_map(|name| Some((*name, extras.get(*name)?))).collect();
        for (name, value) in &fields {
            call[*name] = (*value).clone();
        }
        // Older logs have only this field's value.
        if fields.is_empty() {
            call["extra_content"] = extras.clone();
        }
    }
}

fn add_reasoning(text: &str, opaque: &Value, everywhere: bool, message: &mut Value) {
    let field = opaque["field"].as_str().unwrap_or(CONTENT);
    let sealed = opaque["details"].as_array();
    if let Some(details) = sealed {
        let name = if field == "thinking_blocks" { field } else { "reasoning_details" };
        match message[name].as_array_mut() {
            Some(earlier) => earlier.extend(details.iter().cloned()),
            None => message[name] = json!(details),
        }
    }
    let name = match field {
        _ if text.is_empty() || sealed.is_some() && !everywhere => return,
        _ if everywhere => CONTENT,
        INLINE => {
            let said = message["content"].as_str().unwrap_or_default();
            message["content"] = json!(format!("<think>\n{text}\n</think>\n\n{said}"));
            return;
        }
        "reasoning" => field,
        _ => CONTENT,
    };
    let earlier = message[name].as_str().unwrap_or_default();
    message[name] = json!(format!("{earlier}{text}"));
}
