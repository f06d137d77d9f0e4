//! The common form of every tool's answer, and the compact text that the model sees.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::IntoStaticStr;

use super::facts::Facts;
use super::observation::Observation;
use crate::clock;

/// `partial` is a usable result with a caveat (truncated, exit code ≠ 0, …).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    #[default]
    Success,
    Partial,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(const_into_str, serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    NotFound,
    AccessDenied,
    PermissionDenied,
    InvalidParam,
    Timeout,
    InternalError,
    ExecutionError,
    IsDirectory,
    BinaryFile,
    Conflict,
    AskUserUnavailable,
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeError {
    pub code: ErrorCode,
    pub message: String,
}

/// `data` has small facts for the log, the UI and the compressor; `body` has the one large text, stored once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub data: Facts,
    /// The name of `body` in `data` when the full envelope is printed (`content`, `stdout`, …).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body_key: String,
    /// The model sees all of it (after truncation).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What was done, why it is partial, what to do next. Empty if the body is enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EnvelopeError>,
    #[serde(default)]
    pub time_ms: u64,
}

impl Envelope {
    pub fn success(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn took(&mut self, time: Duration) {
        self.time_ms = clock::milliseconds(time);
    }

    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        let error = Some(EnvelopeError { code, message: message.into() });
        Self { status: Status::Error, error, ..Self::default() }
    }

    #[must_use]
    pub fn with_body(mut self, key: &str, body: impl Into<String>) -> Self {
        key.clone_into(&mut self.body_key);
        self.body = body.into();
        self
    }

    #[must_use]
    pub fn observed(mut self, observation: Observation) -> Self {
        *self.data.observation = observation;
        self
    }

    /// Adds a fact that has no field in the tool's observation.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.more.insert(key.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn partial(mut self) -> Self {
        self.status = Status::Partial;
        self
    }

    pub fn partial_if(self, cut: bool) -> Self {
        if cut { self.partial() } else { self }
    }

    /// The compact text that the model sees: the error, then the body, then the note in brackets.
    pub fn wire(&self) -> Cow<'_, str> {
        let note_only = self.body.is_empty();
        match (&self.error, note_only) {
            (None, true) => Cow::Borrowed(&self.text),
            (None, false) if self.text.is_empty() => Cow::Borrowed(&self.body),
            _ => {
                let mut wire = match &self.error {
                    Some(error) => format!("error {}: {}", error.code.into_str(), error.message),
                    None => String::with_capacity(self.body.len() + self.text.len() + 3),
                };
                // Reminders follow the note.
                let at = self.text.find("<system-reminder>").unwrap_or(self.text.len());
                let (note, reminders) = (self.text[..at].trim_end(), &self.text[at..]);
                for (before, part, behind) in
                    [("", self.body.as_str(), ""), ("[", note, "]"), ("", reminders, "")]
                {
                    if part.is_empty() {
                        continue;
                    }
                    if !wire.is_empty() && !wire.ends_with('\n') {
                        wire.push('\n');
                    }
                    wire.extend([before, part, behind]);
                }
                Cow::Owned(wire)
            }
        }
    }

    /// The public JSON form, as `mycode tool` prints it.
    pub fn to_public(&self, cwd: &str, params_input: &Value, path_resolved: Option<&str>) -> Value {
        let mut data = self.data.to_map();
        if !self.body_key.is_empty() {
            data.insert(self.body_key.clone(), Value::from(self.body.as_str()));
        }
        let mut context = json!({"cwd": cwd, "params_input": params_input});
        if let Some(path) = path_resolved {
            context["path_resolved"] = path.into();
        }
        let mut public = json!({
            "status": self.status,
            "data": data,
            "text": self.text,
            "stats": {"time_ms": self.time_ms},
            "context": context,
        });
        if let Some(error) = &self.error {
            public["error"] = json!(error);
        }
        public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_is_body_then_note() {
        let plain = Envelope::success("Edited a.rs");
        assert_eq!(plain.wire(), "Edited a.rs");
        let body = Envelope::success("").with_body("content", "1\tx\n");
        assert_eq!(body.wire(), "1\tx\n");
        let both = Envelope::success("2 more lines").with_body("content", "1\tx");
        assert_eq!(both.wire(), "1\tx\n[2 more lines]");
        let note = "took 19 s\n<system-reminder>changed</system-reminder>";
        let reminder = Envelope::success(note).with_body("content", "1\tx");
        assert_eq!(reminder.wire(), "1\tx\n[took 19 s]\n<system-reminder>changed</system-reminder>");
        let error = Envelope::error(ErrorCode::NotFound, "no a.rs; did you mean b.rs?");
        assert_eq!(error.wire(), "error NOT_FOUND: no a.rs; did you mean b.rs?");
    }

    #[test]
    fn public_form_merges_the_body_into_data() {
        let envelope = Envelope::success("").with("path", "a.rs").with_body("content", "x");
        let public = envelope.to_public("/w", &json!({"path": "a.rs"}), Some("/w/a.rs"));
        assert_eq!(public["data"], json!({"path": "a.rs", "content": "x"}));
        assert_eq!(public["context"]["path_resolved"], "/w/a.rs");
        assert!(public.get("error").is_none());
    }
}
