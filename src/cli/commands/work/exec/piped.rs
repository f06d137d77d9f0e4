//! Input piped into `mycode exec`: the task itself, or text attached to it.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use crate::cli::report::{self, Failure};
use base::sanitize;
use base::system::os;
use tools::output::{Keep, Limits, Spill};

/// Wait for a pipe's first byte: we may be started with a pipe that is never written to. The same as in Claude Code.
const FIRST_BYTE: Duration = Duration::from_secs(3);

pub fn beside_prompt() -> Result<Option<String>, Failure> {
    if std::io::stdin().is_terminal() || !os::carries_input() {
        return Ok(None);
    }
    if !os::input_comes(FIRST_BYTE) {
        report::note("no input on stdin after 3 s; continuing without it (add < /dev/null to skip the wait)");
        return Ok(None);
    }
    Ok(Some(report::standard_input()?).filter(|text| !text.trim().is_empty()))
}

/// The task with the text attached, in full or cut with the rest in a file.
pub fn attached(prompt: String, beside: Option<String>, project_state: &Path) -> String {
    let Some(text) = beside else { return prompt };
    let spill = Spill::new(project_state.join("tool-output"));
    let text = spill.truncate(text, Keep::HeadTail, Limits::default()).body;
    format!(
        "{prompt}\n\n<stdin>\n{}\n</stdin>",
        sanitize::as_data(text.trim_end()).replace("</stdin", "‹/stdin")
    )
}
