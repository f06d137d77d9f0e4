//! How reasoning goes back to a server of Chat Completions: what it made itself, under the field's name that it used, and in
//! messages that also hold calls. Some servers refuse a history without it, others one that has it:
//!
//! - DeepSeek, Kimi and GLM want `reasoning_content` with calls (api-docs.deepseek.com thinking_mode; kimi-cli#2446 and #2498,
//!   which want it in every message of the assistant's where thinking is preserved). A space stands for reasoning that there
//!   is none of: gateways drop an empty field (nanobot#946).
//! - Gemini wants the signature of a step's first call (ai.google.dev/gemini-api/docs/thought-signatures), and takes a fixed
//!   word for calls that it did not make.
//! - Mistral and Groq refuse fields that they don't know.
//!
//! The model table says where to begin, the server's refusals the rest. Read in November 2026. A rule that depended on which
//! turn is the running one would change old bytes, and with them the server's prompt cache, at every new turn.

use serde_json::{Value, json};

use base::config::models::{self, Replay};
use base::model::item::Reasoning;
use base::model::provider::ProviderError;

/// The `kind` of our opaque reasoning blocks.
pub const OPAQUE_KIND: &str = "openai-reasoning-content";
/// The field's name of thinking that came inside the content.
pub const INLINE: &str = "content";
/// What servers add to a call of their own and want back with it.
pub const CALL_EXTRAS: [&str; 2] = ["extra_content", "provider_specific_fields"];

const CONTENT: &str = "reasoning_content";
const MADE_UP_SIGNATURE: &str = "skip_thought_signature_validator";

/// Which messages must have `reasoning_content`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Optional,
    WithCalls,
    Everywhere,
}

/// What a server demands of reasoning that comes back to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    content: Wanted,
    signature: bool,
    /// It refuses the fields of reasoning.
    no_reasoning: bool,
    /// It refuses additions to calls.
    no_extras: bool,
}

impl Demands {
    /// Those that the model table knows.
    pub fn of(model: &str) -> Self {
        let replay = models::facts(model).and_then(|facts| facts.replay);
        let content = if replay == Some(Replay::Content) { Wanted::WithCalls } else { Wanted::Optional };
        Self { content, signature: replay == Some(Replay::Signature), ..Self::default() }
    }

    /// Of a server that refuses every field that it does not know.
    pub fn none() -> Self {
        Self { no_reasoning: true, no_extras: true, ..Self::default() }
    }

    /// With what an `error` says about the reasoning that was sent, or was not; `None` when it says nothing new.
    pub fn after(self, error: &ProviderError) -> Option<Self> {
        let message = match error {
            ProviderError::BadRequest { message, .. }
            | ProviderError::ReasoningRejected { message }
            | ProviderError::Server { message, .. } => message.to_lowercase(),
            _ => return None,
        };
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        const MISSING: [&str; 6] =
            ["missing", "must be passed back", "must include", "must contain", "required", "requires"];
        const REFUSED: [&str; 9] = [
            "not permitted",
            "not supported",
            "unsupported",
            "unexpected",
            "unrecognized",
            "unknown",
            "not allowed",
            "cannot find field",
            "please remove",
        ];
        const FIELDS: [&str; 6] =
            [CONTENT, "reasoning_details", "thinking_blocks", "'reasoning'", "\"reasoning\"", "`reasoning`"];
        let next = if says(&["thought_signature", "thought signature"]) && says(&MISSING) {
            Self { signature: true, no_extras: false, ..self }
        } else if says(&CALL_EXTRAS) && says(&REFUSED) {
            Self { signature: false, no_extras: true, ..self }
        } else if says(&FIELDS) && says(&REFUSED) {
            Self { content: Wanted::Optional, no_reasoning: true, ..self }
        } else if says(&[CONTENT]) && says(&MISSING) {
            Self { content: Wanted::Everywhere, no_reasoning: false, ..self }
        } else {
            self
        };
        (next != self).then_some(next)
    }

    /// Puts what is known of a message's reasoning into it and its calls, and in place of the rest what the server accepts.
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
        // A gateway finds the signatures of its calls in the sealed blocks.
        if self.signature
            && !sealed
            && !calls.iter().any(|call| CALL_EXTRAS.iter().any(|extra| call[*extra].is_object()))
            && let Some(first) = calls.first_mut()
        {
            first["extra_content"] = json!({"google": {"thought_signature": MADE_UP_SIGNATURE}});
        }
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
        // Older logs hold the one field's value alone.
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
