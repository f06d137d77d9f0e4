//! Runs git with the user's settings but without hooks: a model may just have written one, and it would run
//! outside the sandbox. Nobody can answer questions, and there is a time limit.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use std::{env, io};

use thiserror::Error;
use tokio::process::Command;

use crate::secret;
use crate::text::one_line;

const LIMIT: Duration = Duration::from_secs(300);
/// These fail without a user name.
const MAKES_COMMITS: [&str; 4] = ["commit", "commit-tree", "merge", "rebase"];

#[derive(Debug, Error)]
pub enum GitError {
    #[error("git can't be started: {0}")]
    NotStarted(io::Error),
    #[error("git {0} took more than {limit} s", limit = LIMIT.as_secs())]
    TooLong(String),
    #[error("git {0} failed: {1}")]
    Failed(String, String),
    #[error(
        "git ignores {0}, which another user owns. If you trust it: git config --global --add safe.directory {0}"
    )]
    ForeignOwner(String),
    #[error("the repository has no commit yet. Make a first one, with `git commit --allow-empty` if need be")]
    NoCommit,
}

impl GitError {
    /// What to do; `otherwise` if git is installed.
    pub fn hint(&self, otherwise: &'static str) -> &'static str {
        if matches!(self, Self::NotStarted(_)) { "install git" } else { otherwise }
    }
}

pub async fn run(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    run_with(folder, args, None).await
}

/// Uses `index` in place of the repository's own.
pub async fn run_with(folder: &Path, args: &[&str], index: Option<&Path>) -> Result<String, GitError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]);
    command.args(args);
    command.envs([("GIT_EDITOR", "true"), ("GIT_SEQUENCE_EDITOR", "true"), ("GIT_TERMINAL_PROMPT", "0")]);
    command.envs(index.map(|index| (OsStr::new("GIT_INDEX_FILE"), index)));
    // Its output is parsed.
    command.env("LC_ALL", "C");
    for name in secret::own_variables() {
        command.env_remove(name);
    }
    let name =
        args.iter().find(|arg| !arg.starts_with('-') && !arg.contains('=')).copied().unwrap_or_default();
    let email = env::var_os("EMAIL").unwrap_or_else(|| "mycode@localhost".into());
    if MAKES_COMMITS.contains(&name) && Box::pin(run(folder, &["var", "GIT_COMMITTER_IDENT"])).await.is_err()
    {
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "mycode").env(format!("GIT_{role}_EMAIL"), &email);
        }
    }
    // Git tries this variable last; in containers, it is often the only source.
    command.env("EMAIL", email);
    output(command, name).await
}

async fn output(mut command: Command, name: &str) -> Result<String, GitError> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output())
        .await
        .map_err(|_| GitError::TooLong(name.to_owned()))?
        .map_err(GitError::NotStarted)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = one_line(String::from_utf8_lossy(&said).trim(), 300);
    match said.split_once("dubious ownership in repository at '").and_then(|(_, rest)| rest.split_once('\''))
    {
        Some((folder, _)) => Err(GitError::ForeignOwner(folder.to_owned())),
        None if said.contains("ambiguous argument 'HEAD'") => Err(GitError::NoCommit),
        None => Err(GitError::Failed(name.to_owned(), said)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Paused time moves on while the program sleeps.
    #[tokio::test(start_paused = true)]
    async fn git_has_a_time_limit() {
        let mut hangs = Command::new("sleep");
        hangs.arg("1000");
        let error = output(hangs, "merge").await.unwrap_err().to_string();
        assert_eq!(error, "git merge took more than 300 s");
    }

    #[tokio::test]
    async fn git_opens_no_editor() {
        let folder = tempfile::tempdir().unwrap();
        let told = run(folder.path(), &["var", "GIT_EDITOR"]).await.ok();
        assert_eq!(told.as_deref().map(str::trim), Some("true"));
    }
}
