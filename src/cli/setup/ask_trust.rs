//! The question whether a folder's own configuration is trusted, asked before the screen opens: the answer decides which
//! model is talked to. Shows exactly what a yes would enable.

use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::base::sanitize;
use crate::cli::report::{self, Failure};
use crate::config::load;
use crate::config::paths::{self, Paths};
use crate::config::trust::Trust;

/// An answer that is longer is none.
const MAX_ANSWER_BYTES: u64 = 1024;

/// Asks when the folder wants something that needs trust, and was neither trusted nor refused as it is now.
///
/// # Errors
/// A configuration that cannot be read, or a state folder that cannot be written.
pub fn ask(workspace: &Path) -> Result<(), Failure> {
    let Some((text, wishes)) = load::project_wishes(workspace)? else { return Ok(()) };
    let trust = Trust::new(&Paths::from_env().project(workspace));
    if wishes.is_empty() || trust.holds(&text) || trust.refused(&text) {
        return Ok(());
    }
    let path = paths::project_config(workspace).display().to_string();
    let wishes: Vec<String> = wishes.iter().map(|wish| format!("  {}\n", sanitize::reveal(wish))).collect();
    report::print(&format!(
        "{} wants to set:\n{}This decides where your prompts go and what may run. Do you trust it?\n\
         [y] yes, as it is now   [n] no, and don't ask again   [l] later (default): ",
        sanitize::reveal(&path),
        wishes.concat()
    ))?;
    io::stdout().flush()?;
    let mut answer = Vec::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_until(b'\n', &mut answer)?;
    match String::from_utf8_lossy(&answer).trim().to_lowercase().as_str() {
        "y" | "yes" => trust.give(&text)?,
        "n" | "no" => trust.refuse(&text)?,
        _ => {}
    }
    Ok(())
}
