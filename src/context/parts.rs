//! What is sent beside the history: system prompt, rules, schemas, todo recap, parameters. Each is counted and
//! fingerprinted when it changes, not when it is sent; the log records each change, so that a replay needs neither
//! the program's prompts nor the project's files.

use std::sync::Arc;

use crate::context::tokens::request_size;
use crate::model::call::ToolSpec;
use crate::model::fingerprint::Fingerprint;
use crate::model::request::Params;
use crate::session::record::FrameRecord;

/// One text, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixedPart {
    pub text: Arc<str>,
    /// Tokens with the framing.
    pub tokens: u32,
    /// The model's own tokenizer has counted them; otherwise they are estimated.
    pub counted: bool,
    pub fingerprint: Fingerprint,
}

impl FixedPart {
    pub fn new(text: Arc<str>) -> Self {
        Self {
            tokens: request_size::block_tokens(&text),
            fingerprint: Fingerprint::of(&text),
            counted: false,
            text,
        }
    }

    /// Takes the exact count where `count` knows it.
    pub fn refine(&mut self, count: impl FnOnce(Fingerprint, &Arc<str>) -> Option<u32>) {
        if !self.counted
            && let Some(tokens) = count(self.fingerprint, &self.text)
        {
            (self.tokens, self.counted) = (tokens, true);
        }
    }

    /// Goes back to the estimate: another tokenizer counts from here on.
    pub fn forget_count(&mut self) {
        if self.counted {
            (self.tokens, self.counted) = (request_size::block_tokens(&self.text), false);
        }
    }
}

/// The tool schemas, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Schemas {
    pub specs: Arc<[ToolSpec]>,
    /// Tokens with the framing.
    pub tokens: u32,
    /// The model's own tokenizer has counted them; otherwise they are estimated.
    pub counted: bool,
    pub fingerprint: Fingerprint,
}

impl Schemas {
    pub fn new(specs: Arc<[ToolSpec]>) -> Self {
        Self {
            tokens: request_size::schema_tokens(&specs),
            fingerprint: Fingerprint::of(&specs),
            counted: false,
            specs,
        }
    }

    /// Takes the exact count where `count` knows it.
    pub fn refine(&mut self, count: impl FnOnce(Fingerprint, &Arc<[ToolSpec]>) -> Option<u32>) {
        if !self.counted
            && let Some(tokens) = count(self.fingerprint, &self.specs)
        {
            (self.tokens, self.counted) = (tokens, true);
        }
    }

    /// Goes back to the estimate: another tokenizer counts from here on.
    pub fn forget_count(&mut self) {
        if self.counted {
            (self.tokens, self.counted) = (request_size::schema_tokens(&self.specs), false);
        }
    }
}

impl Default for Schemas {
    fn default() -> Self {
        Self::new(Arc::new([]))
    }
}

/// Everything of a request that is not history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixedParts {
    pub system: FixedPart,
    pub schemas: Schemas,
    /// The project's rules as they are sent.
    pub law: Option<FixedPart>,
    /// The todo recap as it is sent.
    pub recap: Option<FixedPart>,
    pub params: Params,
}

impl FixedParts {
    /// What differs from `before`, for the log; `None` when nothing does.
    pub fn since(&self, before: &Self) -> Option<FrameRecord> {
        let text = |part: &Option<FixedPart>| {
            part.as_ref().map_or_else(|| Arc::from(""), |part| Arc::clone(&part.text))
        };
        let changed = |now: &Option<FixedPart>, was: &Option<FixedPart>| {
            (now.as_ref().map(|part| part.fingerprint) != was.as_ref().map(|part| part.fingerprint))
                .then(|| text(now))
        };
        let frame = FrameRecord {
            system: (self.system.fingerprint != before.system.fingerprint)
                .then(|| Arc::clone(&self.system.text)),
            tools: (self.schemas.fingerprint != before.schemas.fingerprint)
                .then(|| Arc::clone(&self.schemas.specs)),
            law: changed(&self.law, &before.law),
            recap: changed(&self.recap, &before.recap),
            params: (self.params != before.params).then(|| self.params.clone()),
        };
        (frame != FrameRecord::default()).then_some(frame)
    }

    /// Takes up a recorded change.
    pub fn take(&mut self, frame: &FrameRecord) {
        let part = |text: &Arc<str>| (!text.is_empty()).then(|| FixedPart::new(Arc::clone(text)));
        if let Some(text) = &frame.system {
            self.system = FixedPart::new(Arc::clone(text));
        }
        if let Some(specs) = &frame.tools {
            self.schemas = Schemas::new(Arc::clone(specs));
        }
        if let Some(text) = &frame.law {
            self.law = part(text);
        }
        if let Some(text) = &frame.recap {
            self.recap = part(text);
        }
        if let Some(params) = &frame.params {
            self.params = params.clone();
        }
    }
}
