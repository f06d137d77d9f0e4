//! The results of a batch: an append-only file with one line per task. A task with a line is done.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use crate::cli::report::Failure;
use base::sanitize;
use context::session::log;

/// The open file; locked against another batch.
pub struct Results {
    file: File,
    /// By task id; a task's last line counts.
    lines: HashMap<String, Value>,
}

impl Results {
    /// Ignores a line that a kill left incomplete.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let fail = |error: io::Error| {
            Failure::task(
                format!("the results file {} can't be used: {error}", path.display()),
                "name another one with --results",
            )
        };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let message = format!("another batch writes its results to {}", path.display());
            return Err(Failure::task(message, "wait for it to finish, or name another file with --results"));
        }
        let mut lines = HashMap::new();
        for line in fs::read(path).map_err(fail)?.split(|byte| *byte == b'\n') {
            let line: Value = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(_)) = (line["id"].as_str(), line["exit_code"].as_u64()) {
                lines.insert(id.to_owned(), line);
            }
        }
        if !log::ends_with_line_end(&mut file).map_err(fail)? {
            file.write_all(b"\n").map_err(fail)?;
        }
        Ok(Self { file, lines })
    }

    pub fn code(&self, id: &str) -> Option<u64> {
        self.line(id)?["exit_code"].as_u64()
    }

    pub fn line(&self, id: &str) -> Option<&Value> {
        self.lines.get(id)
    }

    pub fn add(&mut self, id: &str, line: Value) -> io::Result<()> {
        self.file.write_all(format!("{}\n", sanitize::escape(&line.to_string())).as_bytes())?;
        self.lines.insert(id.to_owned(), line);
        Ok(())
    }
}
