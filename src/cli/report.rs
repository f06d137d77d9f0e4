//! Output and failures: `error:`, `hint:`, and an exit code for each kind.

use std::fmt::Display;
use std::io::{Read as _, Write};
use std::path::Path;
use std::process;

use anyhow::Error;
use base::config::error::ConfigError;
use base::model::provider::ProviderError;
use base::protocol::exit_code::ExitCode;
use base::sanitize::{clean, escape, reveal};
use context::session::log::LogError;
use evidence::note::error::NoteError;

const MAX_INPUT_BYTES: u64 = 10 * 1024 * 1024;

#[derive(Debug)]
pub struct Failure {
    pub kind: ExitCode,
    pub source: Error,
    pub hint: String,
}

impl Failure {
    pub fn new(kind: ExitCode, message: impl Display, hint: impl Display) -> Self {
        Self { kind, source: Error::msg(message.to_string()), hint: hint.to_string() }
    }

    fn context(self, what: impl Display) -> Self {
        Self { source: self.source.context(what.to_string()), ..self }
    }

    /// What failed, from the outside in: `the file can't be read: permission denied`.
    pub fn message(&self) -> String {
        format!("{:#}", self.source)
    }

    pub fn usage(message: impl Display, hint: impl Display) -> Self {
        Self::new(ExitCode::Usage, message, hint)
    }

    pub fn task(message: impl Display, hint: impl Display) -> Self {
        Self::new(ExitCode::Failed, message, hint)
    }

    pub fn config(message: impl Display, hint: impl Display) -> Self {
        Self::new(ExitCode::Config, message, hint)
    }

    pub fn report(&self) -> process::ExitCode {
        let _ = write!(std::io::stderr().lock(), "{self}");
        process::ExitCode::from(self.kind as u8)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error: {}\nhint: {}\n", reveal(&self.message()), reveal(&self.hint))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(ExitCode::Config, &error.what, &error.hint)
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        let kind = match error {
            ProviderError::Setup(_) | ProviderError::Script(_) => ExitCode::Config,
            ProviderError::CostLimit(_) => ExitCode::Failed,
            _ => ExitCode::Provider,
        };
        Self::new(kind, &error, error.hint(false))
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        let hint = match &error {
            LogError::Busy { .. } => {
                "continue in a copy with --fork, close the other mycode, or start a new session"
            }
            LogError::Io { .. } => {
                "check the disk space and the permissions of the state folder, or set MYCODE_HOME"
            }
        };
        Self::new(ExitCode::Failed, &error, hint)
    }
}

impl From<NoteError> for Failure {
    fn from(error: NoteError) -> Self {
        let (kind, hint) = match &error {
            NoteError::NoSuch { .. } | NoteError::Ambiguous { .. } | NoteError::Twin { .. } => {
                (ExitCode::Usage, "`mycode notes list` and `mycode notes list --archived` show the ids")
            }
            NoteError::Invalid(_) => (ExitCode::Usage, "see `mycode notes --help`"),
            NoteError::FrontMatter { .. } => (ExitCode::Failed, "the file is in .mycode/notes"),
            NoteError::Busy => (ExitCode::Failed, "wait for the other mycode process to finish"),
            _ => (ExitCode::Failed, "make sure that .mycode/notes is a writable folder in this project"),
        };
        Self::new(kind, &error, hint)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(ExitCode::Failed, &error, "check the file permissions and the disk space")
    }
}

pub trait OrFail<T> {
    fn or_task(self, what: impl Display, hint: impl Display) -> Result<T, Failure>;

    fn or_usage(self, what: impl Display, hint: impl Display) -> Result<T, Failure>;
}

impl<T, E: Display> OrFail<T> for Result<T, E> {
    fn or_task(self, what: impl Display, hint: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::task(error, hint).context(what))
    }

    fn or_usage(self, what: impl Display, hint: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::usage(error, hint).context(what))
    }
}

pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "note: {}", clean(text));
}

/// Writes JSON as [`print()`] does, text for people as [`say`] does.
pub fn show(json: bool, text: &str) -> Result<(), Failure> {
    if json { print(text) } else { say(text) }
}

/// For people: model output and file names must not control the terminal.
pub fn say(text: &str) -> Result<(), Failure> {
    print(&clean(text))
}

/// Writes JSON and the like, with control characters as `\u` escapes. A closed pipe isn't a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(escape(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.or_task("the output could not be written", "write it to a disk with free space"),
    }
}

pub fn written(lost: Option<&str>) -> Result<(), Failure> {
    let hint = "the work is in the session; `mycode resume --last` shows it";
    lost.map_or(Ok(()), Err).or_task("the output could not be written", hint)
}

/// Called before the work, so that an unwritable file doesn't waste it.
pub fn check_output(file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let can_hold = folder.is_none_or(Path::is_dir) && !file.is_dir();
    can_hold.then_some(()).ok_or_else(|| {
        let hint = "create the folder first, or name another file";
        Failure::usage(format!("--output {}: there is no folder for it", file.display()), hint)
    })
}

pub fn write_output(file: Option<&Path>, answer: Option<&str>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    // Empty without an answer, so that an earlier one isn't mistaken for it.
    let text = answer.map(|answer| format!("{}\n", answer.trim_end())).unwrap_or_default();
    std::fs::write(file, text).or_task(
        format!("the answer could not be written to {}", file.display()),
        "`mycode resume --last` shows it",
    )
}

pub fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        let hint = "put the text into a file and name the file in the task";
        return Err(Failure::usage("standard input is larger than 10 MiB", hint));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
