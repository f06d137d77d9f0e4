//! Questions on the terminal before the screen opens, and what to do about a session that is open elsewhere.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use crate::cli::report::{self, Failure};
use base::process::reap;
use context::session::log::{self, LogError, SessionLog};
use context::session::stored;

const MAX_ANSWER_BYTES: u64 = 1024;

pub fn yes(question: &str) -> Result<bool, Failure> {
    report::print(question)?;
    Ok(matches!(answer()?.as_str(), "y" | "yes"))
}

pub fn answer() -> Result<String, Failure> {
    io::stdout().flush()?;
    let mut answer = Vec::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_until(b'\n', &mut answer)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_lowercase())
}

/// The log to use: this one if it is free or the other process gives it up, or a copy. `None` to quit.
pub fn ask_busy(project_state: &Path, workspace: &Path, log: PathBuf) -> Result<Option<PathBuf>, Failure> {
    let id = match SessionLog::open(&log) {
        Ok(_) => return Ok(Some(log)),
        Err(LogError::Busy { id }) => id,
        Err(error) => return Err(error.into()),
    };
    let holder = reap::holder(&log);
    let (place, take_over) = match holder {
        Some(pid) => (format!("process {pid}"), "[t] take over, closing the other   "),
        None => ("another process".to_owned(), ""),
    };
    report::print(&format!("Session {id} is open in {place}.\n"))?;
    loop {
        report::print(&format!("[f] fork and continue in the copy (default)   {take_over}[q] quit: "))?;
        match (answer()?.as_str(), holder) {
            ("q" | "quit" | "n" | "no", _) => return Ok(None),
            ("t" | "take over", Some(pid)) if log::end_holder(pid, &log) => return Ok(Some(log)),
            ("t" | "take over", _) => {
                return Err(Failure::task(
                    format!("session {id} is still open in {place}"),
                    "end that mycode, or continue in a copy with --fork",
                ));
            }
            ("" | "f" | "fork", _) => return Ok(Some(stored::fork(project_state, workspace, &log)?)),
            _ => {}
        }
    }
}
