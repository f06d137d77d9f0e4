//! The interface of the output forms, and what they share.

use std::io::{self, Write};

use serde_json::Value;

use base::model::envelope::{Envelope, Status};
use base::model::observation::{Observation, Todos};
use base::protocol::approval::Question;
use base::protocol::event::{EndReason, Event, FailureCause, TurnEnd};
use base::{sanitize, text};

pub const LINE_CHARS: usize = 160;

pub trait Printer {
    fn event(&mut self, event: &Event) -> io::Result<()>;

    fn denied(&mut self, _: &Question) -> io::Result<()> {
        Ok(())
    }

    fn after_end(&mut self, _: &Event) {}

    fn end(&mut self, end: &TurnEnd, answer: &ModelAnswer, exit_code: u8) -> io::Result<()>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    pub text: Option<String>,
    pub output: Option<Value>,
}

/// Flushed, so that readers never see half a line.
pub fn write_line(out: &mut impl Write, line: &Value) -> io::Result<()> {
    out.write_all(format!("{}\n", sanitize::escape(&line.to_string())).as_bytes())?;
    out.flush()
}

pub fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
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
        EndReason::Interrupted { prompt_returned } => {
            let hint = prompt_returned
                .as_ref()
                .map(|_| "no reply had arrived yet; your message was removed from the session");
            ("interrupted", Some("the task was interrupted".to_owned()), hint.map(str::to_owned))
        }
        EndReason::StepLimit { limit } => {
            let steps = text::plural(*limit as usize, "step");
            let message = format!("stopped after {steps} (max_steps); the task is not finished");
            let hint = "to continue, send `continue` or run `mycode exec -c continue`; or raise max_steps in config.toml";
            ("step_limit", Some(message), given(hint))
        }
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

pub fn failed(message: &str, hint: &str, cause: FailureCause) -> EndReason {
    EndReason::Failed { message: message.to_owned(), hint: hint.to_owned(), cause, prompt_returned: None }
}

pub fn failure(reason: &EndReason) -> String {
    let (name, message, hint) = end_words(reason);
    [message.or_else(|| Some(name.to_owned())), hint].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub fn result_line(envelope: &Envelope) -> String {
    if let Some(error) = &envelope.error {
        let code = || format!("{}: {}", error.code.into_str(), error.message);
        return text::one_line(&envelope.data.user_text().map_or_else(code, str::to_owned), LINE_CHARS);
    }
    if let Observation::Todos(Todos { recap: Some(recap), .. }) = &*envelope.data.observation {
        return text::one_line(recap, LINE_CHARS);
    }
    let exit = envelope.data.exit_code();
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
