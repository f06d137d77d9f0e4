//! What is sent outside the history: system prompt, rules, schemas, parameters. The log records each change, so a
//! replay needs neither prompts nor project files.

use std::sync::Arc;

use crate::session::record::FrameRecord;
use crate::tokens::request_size::Countable;
use base::model::call::ToolSpec;
use base::model::fingerprint::Fingerprint;
use base::model::request::Params;

#[derive(Clone, Debug, PartialEq)]
pub struct FixedPart<T = Arc<str>> {
    pub content: T,
    pub tokens: u32,
    pub fingerprint: Fingerprint,
}

pub type Schemas = FixedPart<Arc<[ToolSpec]>>;

impl<T: Countable> FixedPart<T> {
    pub fn new(content: T) -> Self {
        Self { tokens: content.estimated(), fingerprint: Fingerprint::of(&content), content }
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixedParts {
    pub system: FixedPart,
    pub schemas: Schemas,
    pub rules: Option<FixedPart>,
    pub params: Params,
}

impl FixedParts {
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
