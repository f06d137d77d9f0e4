//! What the tools that take a path share: resolving it, and turning the disk's refusals into answers that the model
//! can act on. Also runs blocking work off the async threads.

use crate::base::file::FileError;
use crate::base::path::{self, Resolved};
use crate::base::text::{one_line, plural};
use crate::model::envelope::{Envelope, ErrorCode};
use crate::search::fuzzy;
use crate::tool::api::ToolError;
use crate::tool::cx::ToolCx;

/// The system's own limit.
const MAX_PATH_BYTES: usize = 4_096;

/// A path argument made definite.
#[derive(Clone, Debug)]
pub struct Target {
    pub resolved: Resolved,
    /// As the model sees it.
    pub shown: String,
}

/// Resolves a path argument against the workspace.
///
/// # Errors
/// `INVALID_PARAM` for an empty path or one with a NUL character; `NOT_FOUND` when the workspace itself is gone.
pub fn target(cx: &ToolCx, text: &str) -> Result<Target, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::invalid("path is empty"));
    }
    if text.contains('\0') {
        return Err(ToolError::invalid("path contains a NUL character"));
    }
    if text.len() > MAX_PATH_BYTES {
        return Err(ToolError::invalid("path is longer than any file system allows"));
    }
    if !cx.root.is_dir() {
        return Err(ToolError::model(
            ErrorCode::NotFound,
            format!("the workspace folder {} no longer exists. Tell the user", cx.root.display()),
        ));
    }
    let mut resolved = path::resolve(&cx.root, text);
    if text.contains(['\\', '\u{fffd}'])
        && let Some(real) = path::behind_shown(&resolved.absolute)
    {
        resolved = path::definite(&cx.root, real);
    }
    let shown = path::display(&cx.root, &resolved.absolute);
    Ok(Target { resolved, shown })
}

/// A likeness from which a path is the wanted one but for its case or a missing beginning.
const CLEAR_LIKENESS: f64 = 90.0;

/// Like [`target`], for tools that only read: a path that does not exist leads to the one file or folder that is clearly
/// meant, if there is just one, with a sentence that says so.
///
/// # Errors
/// As [`target`].
pub fn target_or_winner(cx: &ToolCx, text: &str) -> Result<(Target, Option<String>), ToolError> {
    let wanted = target(cx, text)?;
    if !wanted.resolved.inside || wanted.resolved.absolute.symlink_metadata().is_ok() {
        return Ok((wanted, None));
    }
    let near = fuzzy::nearest(&cx.root, &wanted.shown, 2);
    let mut clear = near.iter().filter(|(_, likeness)| *likeness >= CLEAR_LIKENESS);
    let (Some((winner, _)), None) = (clear.next(), clear.next()) else { return Ok((wanted, None)) };
    let found = target(cx, winner.trim_end_matches('/'))?;
    if !found.resolved.inside {
        return Ok((wanted, None));
    }
    let note = format!("{} does not exist; this is {}", wanted.shown, found.shown);
    Ok((found, Some(note)))
}

/// The answer with what [`target_or_winner`] had to say in front.
pub fn noted(mut envelope: Envelope, note: Option<String>) -> Envelope {
    if let Some(note) = note {
        envelope.text = if envelope.text.is_empty() { note } else { format!("{note}; {}", envelope.text) };
    }
    envelope
}

/// The title's path: relative when it lies in the workspace, on one line.
pub fn title_path(text: &str) -> String {
    one_line(text, 120)
}

/// A refusal of the disk, in words and code for the model.
pub fn refused(cx: &ToolCx, target: &Target, error: &FileError) -> ToolError {
    let shown = &target.shown;
    match error {
        FileError::NotFound => not_found(cx, target),
        FileError::IsDirectory => {
            ToolError::model(ErrorCode::IsDirectory, format!("{shown} is a folder; list it with LS"))
        }
        FileError::Special(kind) => {
            ToolError::invalid(format!("{shown} is a {kind}, not a file; it cannot be read or edited"))
        }
        FileError::Denied(why) => ToolError::model(ErrorCode::PermissionDenied, format!("{shown}: {why}")),
        FileError::Unable(why) => ToolError::model(ErrorCode::ExecutionError, format!("{shown}: {why}")),
        FileError::TooLarge { .. } => {
            ToolError::invalid(format!("{shown} {error}; use Bash (head, tail, sed) on it instead"))
        }
        FileError::Changed | FileError::Exists => ToolError::model(
            ErrorCode::Conflict,
            format!("{shown} {error}. Nothing was written; Read it again"),
        ),
        FileError::Io(error) => ToolError::model(ErrorCode::ExecutionError, format!("{shown}: {error}")),
    }
}

/// `NOT_FOUND` with the nearest real paths.
pub fn not_found(cx: &ToolCx, target: &Target) -> ToolError {
    let shown = &target.shown;
    let mut message = format!("{shown} does not exist");
    if target.resolved.inside {
        let near = fuzzy::nearest(&cx.root, shown, 3);
        if !near.is_empty() {
            let names: Vec<&str> = near.iter().map(|(path, _)| path.as_str()).collect();
            message.push_str(&format!("; did you mean {}?", names.join(" or ")));
        }
    } else if let Some(parent) = target.resolved.absolute.ancestors().skip(1).find(|folder| folder.is_dir()) {
        message.push_str(&format!("; the nearest existing folder is {}", parent.display()));
    }
    ToolError::model(ErrorCode::NotFound, message)
}

/// What a search says of folders that it could not enter.
pub fn closed_folders(count: usize) -> String {
    format!(
        "{} could not be entered (no permission, or an ignore file that is no file)",
        plural(count, "folder")
    )
}

/// Runs disk work on the blocking pool.
///
/// # Errors
/// Those of `work`; fatal when it panicked.
pub async fn blocking<F>(cx: &ToolCx, work: F) -> Result<Envelope, ToolError>
where
    F: FnOnce(&ToolCx) -> Result<Envelope, ToolError> + Send + 'static,
{
    let cx = cx.clone();
    match tokio::task::spawn_blocking(move || work(&cx)).await {
        Ok(result) => result,
        Err(error) => {
            Err(ToolError::model(ErrorCode::InternalError, format!("the tool failed inside: {error}")))
        }
    }
}
