//! Whether a folder's own configuration may redirect the model or loosen the rules. Trust is bound to the
//! exact text and kept in the user's state, never in the checkout.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::file;
use crate::folder::atomic_write::{self, Expect};

/// A hash in hexadecimal, with some room.
const MAX_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Trust {
    path: PathBuf,
}

impl Trust {
    pub fn new(project_state: &Path) -> Self {
        Self { path: project_state.join("trusted-configuration") }
    }

    /// Trust in everything that the project defines (`own_files`).
    pub fn of_agents(project_state: &Path) -> Self {
        Self { path: project_state.join("trusted-agents") }
    }

    pub fn holds(&self, text: &str) -> bool {
        holds_hash(&self.path, text)
    }

    pub fn give(&self, text: &str) -> io::Result<()> {
        self.revoke()?;
        write_hash(&self.path, text)
    }

    pub fn refused(&self, text: &str) -> bool {
        holds_hash(&self.refusal(), text)
    }

    /// Remembers the refusal, so that the user isn't asked again.
    pub fn refuse(&self, text: &str) -> io::Result<()> {
        write_hash(&self.refusal(), text)
    }

    fn refusal(&self) -> PathBuf {
        let name = self.path.file_name().map(|name| name.to_string_lossy().replace("trusted", "refused"));
        self.path.with_file_name(name.unwrap_or_default())
    }

    pub fn revoke(&self) -> io::Result<()> {
        file::remove(&self.path)
    }
}

/// Copies a project's trust to a copy of the project: for the same texts only.
pub fn inherit(project_state: &Path, copy_state: &Path) -> io::Result<()> {
    let of = |state: &Path| [Trust::new(state), Trust::of_agents(state)];
    for (trust, copy) in of(project_state).into_iter().zip(of(copy_state)) {
        if let Ok((hash, _)) = file::read(&trust.path, MAX_BYTES) {
            atomic_write::write_private(&copy.path, &hash, Expect::Anything).map_err(io::Error::other)?;
        }
    }
    Ok(())
}

fn holds_hash(path: &Path, text: &str) -> bool {
    file::read(path, MAX_BYTES).is_ok_and(|(bytes, _)| bytes == hash(text).as_bytes())
}

fn write_hash(path: &Path, text: &str) -> io::Result<()> {
    atomic_write::write_private(path, hash(text).as_bytes(), Expect::Anything).map_err(io::Error::other)
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
