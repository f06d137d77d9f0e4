//! Words the result of a command, or its time limit, for the model.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::decode::readable;
use super::visible_output::visible_output;
use super::{file_view, hints};
use crate::check::find;
use crate::cx::ToolCx;
use crate::output::Keep;
use base::model::envelope::{Envelope, EnvelopeError, ErrorCode, Status};
use base::model::observation::{Command, Observation};
use base::process::run::{CommandOutcome, Exit};
use base::system::os;
use base::text::{human_bytes, plural};
use base::{file, path};
use guard::redact::detector::TextSource;

pub const KEEP_BYTES: usize = 128 * 1024;
pub const SPILL_BYTES: u64 = 100 * 1024 * 1024;
const LONG: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct CommandRun {
    pub command: String,
    pub cwd: PathBuf,
    /// The next command starts in the folder where this one ends.
    pub moves: bool,
    pub timeout: Duration,
}

pub fn goes_on(run: &CommandRun, cx: &ToolCx, id: u32, file: &Path, waited: Duration) -> Envelope {
    let bytes = file::tail(file, 2 * KEEP_BYTES as u64).unwrap_or_default();
    let text = cx.redactor.redact(&readable(&bytes), TextSource::of_command(&run.command)).into_owned();
    let cut = cx.spill.truncate(text, Keep::HeadTail, cx.observation);
    let by_user = waited < run.timeout;
    let seconds = (run.timeout.as_secs_f64() * 100.0).round() / 100.0;
    let what = match by_user {
        true => "Moved to the background by the user; it keeps running".to_owned(),
        false => format!("Still running after {seconds} s, now"),
    };
    let note = format!(
        "{what} as job {id}. Job {{\"id\":{id},\"wait_s\":300}} waits for it; \
         {{\"id\":{id},\"stop\":true}} ends it."
    );
    let ran = Command {
        command: Some(run.command.clone()),
        check: find::of_command(&run.command, &cx.calls),
        job: Some(id),
        timed_out: Some(!by_user),
        running: Some(true),
        full_output_path: Some(file.to_string_lossy().into_owned()),
        ..Command::default()
    };
    Envelope::success(note).partial().observed(Observation::Command(ran)).with_body("output", cut.body)
}

pub fn ended(run: &CommandRun, cx: &ToolCx, outcome: CommandOutcome, took: Duration) -> Envelope {
    let mut notes = Vec::new();
    let mut envelope = Envelope::success("");
    let (body, full) = visible_output(&outcome.output, cx, TextSource::of_command(&run.command));
    match outcome.exit {
        _ if outcome.cancelled => {
            envelope =
                Envelope::error(ErrorCode::Interrupted, "interrupted by the user; the command was killed");
        }
        _ if outcome.timed_out => {
            envelope.status = Status::Error;
            let seconds = run.timeout.as_secs_f64();
            let message =
                format!("timed out after {seconds} s; the command and its child processes were killed");
            envelope.error = Some(EnvelopeError { code: ErrorCode::Timeout, message });
        }
        Exit::Code(0) => {}
        exit => {
            envelope = envelope.partial();
            notes.push(exit.to_string());
        }
    }
    let ended_in = end_folder(&outcome.side);
    if run.moves
        && let Some(folder) = ended_in.filter(|folder| *folder != run.cwd)
    {
        if folder.is_dir() {
            notes.push(match folder == *cx.root {
                true => "the current folder is the workspace again".to_owned(),
                false => format!("the current folder is now {}", path::display(&cx.root, &folder)),
            });
            cx.shell.set_cwd(folder);
        } else {
            let gone = folder.display();
            notes.push(format!("{gone} exists only in the sandbox; the current folder is unchanged"));
        }
    }
    if !outcome.cancelled && !outcome.timed_out && os::group_lives(outcome.leader) {
        let count = cx.shell.leftovers.note(&run.command, outcome.leader, outcome.lifeline);
        if count > 0 {
            notes.push(format!(
                "{} still running in the background until the session ends{}",
                plural(count, "process"),
                cx.keep_hint()
            ));
        }
    }
    if outcome.output.spill_cut {
        notes.push(format!("the file has only the first {}", human_bytes(SPILL_BYTES)));
    }
    notes.extend(hints::network(&cx.confinement, &run.command, &body).map(str::to_owned));
    if took >= LONG && !outcome.timed_out {
        notes.push(format!("took {} s", took.as_secs()));
    }
    notes.extend(hints::of(run.command.trim(), &outcome.exit, &body, cx));
    if body.is_empty() && envelope.error.is_none() {
        notes.push("no output".to_owned());
    }
    envelope.text = notes.join("; ");
    let mut ran = Command {
        command: Some(run.command.clone()),
        exit_code: Some(outcome.exit.code().into()),
        timed_out: Some(outcome.timed_out),
        cwd: Some(path::display(&cx.root, &cx.shell.cwd())),
        duration_ms: Some(took.as_millis() as u64),
        output_bytes: Some(outcome.output.total_bytes),
        check: find::of_run(&run.command, &cx.calls, &body),
        ..Command::default()
    };
    if !outcome.timed_out && !outcome.cancelled {
        let raw = full.is_none().then(|| {
            let (early, late) = outcome.output.tail.as_slices();
            [&outcome.output.head, early, late].concat()
        });
        let printed = raw.as_deref().unwrap_or(body.as_bytes());
        ran.view = file_view::of_command(cx, printed, raw.is_some()).map(Box::new);
    }
    if let Some(full) = full {
        if envelope.error.is_none() {
            envelope = envelope.partial();
        }
        ran.full_output_path = Some(full.to_string_lossy().into_owned());
        ran.truncated = Some(true);
        ran.output_lines = Some(outcome.output.lines());
    }
    envelope.observed(Observation::Command(ran)).with_body("output", body)
}

fn end_folder(side: &[u8]) -> Option<PathBuf> {
    let name = side.strip_suffix(b"\n")?;
    let folder = os::path_of(name.to_vec());
    folder.is_absolute().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found() {
        assert_eq!(end_folder(b"/a\nb\n"), Some(PathBuf::from("/a\nb")));
        assert_eq!(end_folder(b""), None);
    }
}
