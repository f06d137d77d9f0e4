//! State kept between Bash calls: the folder, and processes left running.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::jobs::Jobs;
use base::process::reap::Leftovers;

pub struct Shell {
    cwd: Mutex<PathBuf>,
    /// Background processes of finished calls; they end with the session.
    pub leftovers: Leftovers,
    pub jobs: Arc<Jobs>,
    /// Hints that were already given, such as that a program is missing.
    said: Mutex<HashSet<String>>,
}

impl Shell {
    pub fn new(cwd: PathBuf) -> Self {
        Self {
            cwd: Mutex::new(cwd),
            leftovers: Leftovers::default(),
            jobs: Arc::default(),
            said: Mutex::default(),
        }
    }

    pub fn cwd(&self) -> PathBuf {
        self.cwd.lock().clone()
    }

    pub fn is_first(&self, hint: &str) -> bool {
        self.said.lock().insert(hint.to_owned())
    }

    pub fn set_cwd(&self, cwd: PathBuf) {
        *self.cwd.lock() = cwd;
    }
}
