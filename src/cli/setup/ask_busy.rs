//! Asks what to do about a session that another process has open, before the screen opens.

use std::path::{Path, PathBuf};

use super::answer::answer;
use crate::cli::report::{self, Failure};
use context::session::holder;
use context::session::log::{LogError, SessionLog};
use context::session::stored;

/// The log to use: this one if it is free or the other process gives it up, or a copy. `None` to quit.
pub fn ask(project_state: &Path, workspace: &Path, log: PathBuf) -> Result<Option<PathBuf>, Failure> {
    let id = match SessionLog::open(&log) {
        Ok(_) => return Ok(Some(log)),
        Err(LogError::Busy { id }) => id,
        Err(error) => return Err(error.into()),
    };
    let holder = holder::holder(&log);
    let (place, take_over) = match holder {
        Some(pid) => (format!("process {}", pid.as_raw_nonzero()), "[t] take over: end it there   "),
        None => ("another process".to_owned(), ""),
    };
    report::print(&format!(
        "Session {id} is open in {place}.\n[f] fork: go on in a copy (default)   {take_over}[q] quit: "
    ))?;
    match (answer()?.as_str(), holder) {
        ("q" | "quit" | "n" | "no", _) => Ok(None),
        ("t" | "take over", Some(pid)) if holder::end(pid, &log) => Ok(Some(log)),
        ("t" | "take over", _) => Err(Failure::task(
            format!("session {id} is still open in {place}"),
            "end that mycode, or continue in a copy with --fork",
        )),
        _ => Ok(Some(stored::fork(project_state, workspace, &log)?)),
    }
}
