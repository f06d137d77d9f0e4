//! Prepares a result for the model: redacts secrets, truncates, appends news.

use std::borrow::Cow;
use std::path::PathBuf;

use base::model::envelope::{Envelope, ErrorCode, Status};
use base::sanitize;
use tools::cx::ToolCx;
use tools::output::{self, Keep, Limits, Truncated};

pub fn clean(cx: &ToolCx, envelope: &mut Envelope, tool: &str, limits: Limits) {
    cx.redactor.redact_envelope(envelope);
    let keep = if tool == "Bash" { Keep::HeadTail } else { Keep::Head };
    let body = std::mem::take(&mut envelope.body);
    let known = envelope.data.full_output_path().map(PathBuf::from);
    let cut = match known {
        // The tool already stored its full output; don't store the excerpt as well.
        Some(path) if !output::fits(&body, limits) => {
            let body = output::cut(&body, None, keep, Some(&path), limits);
            Truncated { body, cut: true, full_output_path: Some(path) }
        }
        _ => cx.spill.truncate(body, keep, limits),
    };
    envelope.body = cut.body;
    if cut.cut && envelope.status == Status::Success {
        envelope.status = Status::Partial;
    }
    if let Some(path) = cut.full_output_path {
        envelope.data.set_full_output_path(Some(path.to_string_lossy().into_owned()));
    }
}

/// Escapes tool output that imitates our reminders.
pub fn keep_apart(envelope: &mut Envelope) {
    let message = envelope.error.as_mut().map(|error| &mut error.message);
    for text in [&mut envelope.text, &mut envelope.body].into_iter().chain(message) {
        if let Cow::Owned(changed) = sanitize::without_tags(text) {
            *text = changed;
        }
    }
}

pub fn add_news(envelope: &mut Envelope, news: &[String]) {
    for sentence in news {
        if !envelope.text.is_empty() {
            envelope.text.push_str("; ");
        }
        envelope.text.push_str(sentence);
    }
}

pub fn add_block(envelope: &mut Envelope, block: &str) {
    let gap = if envelope.text.is_empty() { "" } else { "\n" };
    envelope.text.push_str(&format!("{gap}{block}"));
}

pub fn interrupted() -> Box<Envelope> {
    Box::new(Envelope::error(
        ErrorCode::Interrupted,
        "the user interrupted this call; its effect may be partial",
    ))
}
