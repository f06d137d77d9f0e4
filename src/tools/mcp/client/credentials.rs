//! Tokens of servers that the user has signed in to, each in a private file in the program's state.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};

use base::file;
use base::folder::atomic_write::{self, Expect};
use base::process::task;

#[derive(Clone)]
pub struct CredentialFile(pub PathBuf);

impl CredentialFile {
    pub fn exists(&self) -> bool {
        self.0.is_file()
    }

    fn read(&self) -> Option<StoredCredentials> {
        serde_json::from_slice(&file::read_own(&self.0).ok()?).ok()
    }

    fn write(&self, credentials: &StoredCredentials) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(credentials)?;
        atomic_write::write_private(&self.0, &bytes, Expect::Anything).map_err(std::io::Error::other)
    }
}

fn failed(error: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

pub fn folder_name(server: &str, origin: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = server.chars().take(40).map(plain).collect();
    let hash = file::hash(format!("{server}\0{}", origin.display()).as_bytes());
    format!("{name}-{}", &hash[..10])
}

#[async_trait]
impl CredentialStore for CredentialFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let file = self.clone();
        task::blocking(move || file.read()).await.map_err(failed)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let file = self.clone();
        task::blocking(move || file.write(&credentials)).await.map_err(failed)?.map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let file = self.clone();
        let removed = task::blocking(move || std::fs::remove_file(&file.0)).await.map_err(failed)?;
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}
