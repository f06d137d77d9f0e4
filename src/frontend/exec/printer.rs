//! The interface of the two output forms.

use std::io;

use serde_json::Value;

use base::model::envelope::{Envelope, Status};
use base::protocol::approval::Question;
use base::protocol::event::{EndReason, Event, FailureCause, TurnEnd};
use base::text;

pub const LINE_CHARS: usize = 160;

pub trait Printer {
    fn event(&mut self, event: &Event) -> io::Result<()>;

    fn denied(&mut self, question: &Question) -> io::Result<()>;

    fn output(&mut self, _: &Value) {}

    fn after_end(&mut self, _: &Event) {}

    /// Other programs know fewer codes than [ours](super::run).
    fn exit_code(&self, _: &TurnEnd, ours: u8) -> u8 {
        ours
    }

    fn end(&mut self, end: &TurnEnd, exit_code: u8) -> io::Result<()>;
}

/// For programs that know failed and not failed.
pub fn failed_or_not(end: &TurnEnd, ours: u8) -> u8 {
    match end.reason {
        EndReason::Done => 0,
        EndReason::Interrupted { .. } => ours,
        _ => 1,
    }
}

pub fn declined(question: &Question) -> (&str, &str, &str) {
    match question {
        Question::Approval(request) => (&request.tool, &request.title, &request.reason),
        Question::Ask { questions } => {
            let first = questions.first().map_or("", |asked| &asked.question);
            ("AskUser", first, "no user is available")
        }
        // Plans are never asked about when headless.
        Question::Plan(plan) => ("", &plan.path, "no user is available"),
    }
}

/// The stable name of an end, with a message and a hint for people.
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
        EndReason::Failed { message, hint, cause, .. } => {
            let name = match cause {
                FailureCause::Deadline => "deadline",
                FailureCause::CostLimit => "cost_limit",
                FailureCause::NoProgress => "no_progress",
                _ => "failed",
            };
            (name, given(message), given(hint))
        }
    }
}

pub fn result_line(envelope: &Envelope) -> String {
    if let Some(error) = &envelope.error {
        return text::one_line(&format!("{}: {}", error.code.into_str(), error.message), LINE_CHARS);
    }
    let exit = envelope.data.exit_code();
    // Truncated output reports its full length.
    let whole = envelope.data.command().and_then(|command| command.output_lines);
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
