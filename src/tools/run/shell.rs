//! What is kept between Bash calls: the folder, and the processes that were left running.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::jobs::Jobs;
use base::process::reap::Leftovers;

/// The shell of a session.
#[derive(Debug)]
pub struct Shell {
    cwd: Mutex<PathBuf>,
    /// Background processes of finished calls; they end with the session.
    pub leftovers: Leftovers,
    /// Background jobs.
    pub jobs: Arc<Jobs>,
}

impl Shell {
    /// A shell whose first command starts in `cwd`.
    pub fn new(cwd: PathBuf) -> Self {
        Self { cwd: Mutex::new(cwd), leftovers: Leftovers::default(), jobs: Arc::default() }
    }

    /// Where the next command starts.
    pub fn cwd(&self) -> PathBuf {
        self.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The next command starts in `cwd`.
    pub fn set_cwd(&self, cwd: PathBuf) {
        *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = cwd;
    }
}
