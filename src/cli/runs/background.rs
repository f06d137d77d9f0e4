//! `--bg`: starts the same command again, as a process with a session of its own that outlives the terminal. It writes to a
//! log; once its record is there, it is running.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::record;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open;
use base::config::paths::Paths;
use base::file;
use base::process::programs;
use base::system::os;
use context::session::log;

const PAUSE: Duration = Duration::from_millis(20);
/// Asking a slow model server for its window size delays the start.
const LIMIT: Duration = Duration::from_secs(120);
const MAX_SAID: u64 = 16 * 1024;

#[derive(Args, Clone, Debug, Default)]
pub struct BackgroundArgs {
    /// Run in the background, even after this terminal is closed; `mycode ps`, `attach`, `logs` and `stop` manage it
    #[arg(long)]
    pub bg: bool,

    /// The id of a run that --bg started
    #[arg(long, hide = true, value_name = "ID")]
    pub run_id: Option<String>,
}

impl BackgroundArgs {
    /// Returns the run's id; a background run detaches from the terminal.
    pub fn begin(&self) -> String {
        match &self.run_id {
            Some(id) => {
                os::leave_session();
                id.clone()
            }
            None => log::new_id(),
        }
    }
}

pub async fn start(folder: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let state = Paths::from_env().project(&open::workspace(folder)?);
    let id = log::new_id();
    let path = record::path_of(&state, &id);
    let said = path.with_extension("log");
    let hint = "check the disk space and the permissions of the state folder, or set MYCODE_HOME";
    let output = record::new_log(&path).or_task(format!("can't write {}", said.display()), hint)?;
    let stdin = if std::io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() };
    let mut command = Command::new(programs::own()?);
    let args = with_id(std::env::args_os().skip(1).collect(), &id);
    let unread =
        || Failure::usage("--bg is joined to another option", "write `--bg` as an option of its own");
    command.args(args.ok_or_else(unread)?).stdin(stdin);
    let spawned = command.stdout(output.try_clone()?).stderr(output).spawn();
    let mut child = spawned.or_task("the run can't be started", "try again without --bg")?;
    let deadline = Instant::now() + LIMIT;
    while record::read(path.clone()).is_none() {
        if let Some(status) = child.try_wait()? {
            let text = file::small_text(&said, MAX_SAID).unwrap_or_default();
            let _ = std::fs::remove_file(&said);
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let hint = format!("{} has its output; `mycode doctor` tests the model's server", said.display());
            return Err(Failure::task(format!("the run did not start within {} s", LIMIT.as_secs()), hint));
        }
        tokio::time::sleep(PAUSE).await;
    }
    if json {
        let line = json!({"type": "background", "id": id, "log": said});
        return report::print(&format!("{line}\n")).map(|()| 0);
    }
    report::say(&format!(
        "Started {id} in the background.\n\
         \x20 mycode attach {id}  follow it; Ctrl-C leaves it running\n\
         \x20 mycode logs {id}    its output so far\n\
         \x20 mycode stop {id}    end it; finished work stays\n\
         \x20 mycode ps  lists what is running\n"
    ))
    .map(|()| 0)
}

/// Returns `None` without a `--bg` to replace, or the run would start itself again and again.
fn with_id(mut args: Vec<OsString>, id: &str) -> Option<Vec<OsString>> {
    *args.iter_mut().find(|arg| *arg == "--bg" || *arg == "--background")? = format!("--run-id={id}").into();
    Some(args)
}
