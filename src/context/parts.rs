//! What is sent beside the history: system prompt, rules, schemas, parameters. Each is counted and
//! fingerprinted when it changes, not when it is sent; the log records each change, so that a replay needs neither
//! the program's prompts nor the project's files.

use std::sync::Arc;

use crate::session::record::FrameRecord;
use crate::tokens::request_size::Countable;
use base::model::call::ToolSpec;
use base::model::fingerprint::Fingerprint;
use base::model::request::Params;

/// A text or the tool schemas, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedPart<T = Arc<str>> {
    pub content: T,
    /// Tokens with the framing.
    pub tokens: u32,
    /// The model's own tokenizer has counted them; otherwise they are estimated.
    pub counted: bool,
    pub fingerprint: Fingerprint,
}

/// The tool schemas.
pub type Schemas = FixedPart<Arc<[ToolSpec]>>;

impl<T: Countable> FixedPart<T> {
    pub fn new(content: T) -> Self {
        Self { tokens: content.estimated(), fingerprint: Fingerprint::of(&content), counted: false, content }
    }

    /// Takes the exact count where `count` knows it.
    pub fn refine(&mut self, count: impl FnOnce(Fingerprint, &T) -> Option<u32>) {
        if !self.counted
            && let Some(tokens) = count(self.fingerprint, &self.content)
        {
            (self.tokens, self.counted) = (tokens, true);
        }
    }

    /// Goes back to the estimate: another tokenizer counts from here on.
    pub fn forget_count(&mut self) {
        if self.counted {
            (self.tokens, self.counted) = (self.content.estimated(), false);
        }
    }
}

impl Default for FixedPart {
    fn default() -> Self {
        Self::new("".into())
    }
}

impl Default for Schemas {
    fn default() -> Self {
        Self::new([].into())
    }
}

/// Everything of a request that is not history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixedParts {
    pub system: FixedPart,
    pub schemas: Schemas,
    /// The project's rules as they are sent.
    pub rules: Option<FixedPart>,
    pub params: Params,
}

impl FixedParts {
    /// What differs from `before`, for the log; `None` when nothing does.
    pub fn since(&self, before: &Self) -> Option<FrameRecord> {
        let changed = |now: &Option<FixedPart>, was: &Option<FixedPart>| {
            let fingerprint = |part: &Option<FixedPart>| part.as_ref().map(|part| part.fingerprint);
            let text = || now.as_ref().map_or_else(|| "".into(), |part| Arc::clone(&part.content));
            (fingerprint(now) != fingerprint(was)).then(text)
        };
        let frame = FrameRecord {
            system: (self.system.fingerprint != before.system.fingerprint)
                .then(|| Arc::clone(&self.system.content)),
            tools: (self.schemas.fingerprint != before.schemas.fingerprint)
                .then(|| Arc::clone(&self.schemas.content)),
            rules: changed(&self.rules, &before.rules),
            params: (self.params != before.params).then(|| self.params.clone()),
        };
        (frame != FrameRecord::default()).then_some(frame)
    }

    /// Applies a recorded change.
    pub fn apply(&mut self, frame: &FrameRecord) {
        let part = |text: &Arc<str>| (!text.is_empty()).then(|| FixedPart::new(Arc::clone(text)));
        if let Some(text) = &frame.system {
            self.system = FixedPart::new(Arc::clone(text));
        }
        if let Some(specs) = &frame.tools {
            self.schemas = Schemas::new(Arc::clone(specs));
        }
        if let Some(text) = &frame.rules {
            self.rules = part(text);
        }
        if let Some(params) = &frame.params {
            self.params = params.clone();
        }
    }
}
