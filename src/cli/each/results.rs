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
    codes: HashMap<String, u64>,
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
            return Err(Failure::task(message, "wait for its end, or name another file with --results"));
        }
        let mut codes = HashMap::new();
        for line in fs::read(path).map_err(fail)?.split(|byte| *byte == b'\n') {
            let line: Value = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(code)) = (line["id"].as_str(), line["exit_code"].as_u64()) {
                codes.insert(id.to_owned(), code);
            }
        }
        if !log::ends_with_line_end(&mut file).map_err(fail)? {
            file.write_all(b"\n").map_err(fail)?;
        }
        Ok(Self { file, codes })
    }

    pub fn code(&self, id: &str) -> Option<u64> {
        self.codes.get(id).copied()
    }

    pub fn add(&mut self, id: &str, code: u8, line: &Value) -> io::Result<()> {
        self.codes.insert(id.to_owned(), u64::from(code));
        self.file.write_all(format!("{}\n", sanitize::escape(&line.to_string())).as_bytes())
    }
}
