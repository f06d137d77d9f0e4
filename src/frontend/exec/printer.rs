//! What the two output forms have in common: they are shown every event, then how it ended.

use std::io;

use serde_json::Value;

use base::model::envelope::{Envelope, Status};
use base::protocol::approval::Question;
use base::protocol::event::{EndReason, Event, TurnEnd};
use base::text;

/// Longest one-line text, in characters.
pub const LINE_CHARS: usize = 160;

/// One form of output.
pub trait Printer {
    /// Shows an event; most mean nothing to a given form.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// A question was answered with no, because nobody can be asked.
    fn denied(&mut self, question: &Question) -> io::Result<()>;

    /// The answer is this JSON value.
    fn output(&mut self, _: &Value) {}

    /// Shows what is said while the session is closed.
    fn after_end(&mut self, _: &Event) {}

    /// The turn has ended; comes once.
    fn end(&mut self, end: &TurnEnd, exit_code: u8) -> io::Result<()>;
}

/// The stable name of an end, with its message and hint for people.
pub fn end_words(reason: &EndReason) -> (&'static str, Option<String>, Option<String>) {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match reason {
        EndReason::Done => ("done", None, None),
        EndReason::Interrupted { .. } => ("interrupted", Some("the task was interrupted".to_owned()), None),
        EndReason::StepLimit { limit } => (
            "step_limit",
            Some(format!(
                "stopped after {} (max_steps); the task is not finished",
                text::plural(usize::try_from(*limit).unwrap_or(usize::MAX), "step")
            )),
            Some("continue with `mycode exec -c continue`, or raise max_steps in config.toml".to_owned()),
        ),
        EndReason::ProviderFailed { message, hint, .. } => ("provider_failed", given(message), given(hint)),
        EndReason::Failed { message, hint, .. } => ("failed", given(message), given(hint)),
    }
}

/// What a result comes to, on one line.
pub fn result_line(envelope: &Envelope) -> String {
    if let Some(error) = &envelope.error {
        return text::one_line(&format!("{}: {}", error.code.as_str(), error.message), LINE_CHARS);
    }
    let exit = envelope.data.get("exit_code").and_then(serde_json::Value::as_i64);
    // A cut output says how long the whole was.
    let whole = envelope.data.get("output_lines").and_then(serde_json::Value::as_u64);
    let lines = whole.map_or_else(|| envelope.body.lines().count(), |lines| lines as usize);
    let body = (lines > 0).then(|| text::plural(lines, "line"));
    let note = text::one_line(&envelope.text, LINE_CHARS);
    match (exit, body) {
        (Some(code), Some(lines)) if code != 0 => format!("exit {code}, {lines}"),
        (Some(code), None) if code != 0 => format!("exit {code}"),
        (_, Some(lines)) if note.is_empty() || envelope.status == Status::Success => lines,
        (_, Some(lines)) => text::one_line(&format!("{lines}; {note}"), LINE_CHARS),
        (_, None) if note.is_empty() => "ok".to_owned(),
        (_, None) => note,
    }
}
