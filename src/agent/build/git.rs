//! Git for builds: a commit per subtask, and worktrees for parallel ones. Uses the user's git and settings
//! but no hooks: a role may just have written one, and it would run outside the sandbox.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::roles::Stop;
use base::text::one_line;

const HINT: &str = "fix that in the repository, then run the build again with --resume";
/// For one command of git's.
const LIMIT: Duration = Duration::from_secs(300);

async fn git(folder: &Path, args: &[&str]) -> Result<String, Stop> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "core.hooksPath=/dev/null"]).args(args);
    // There is no one to answer.
    command.envs([("GIT_EDITOR", "true"), ("GIT_SEQUENCE_EDITOR", "true"), ("GIT_TERMINAL_PROMPT", "0")]);
    output(command, args[0]).await
}

async fn output(mut command: Command, name: &str) -> Result<String, Stop> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output())
        .await
        .map_err(|_| Stop::failed(format!("git {name} took more than {} s", LIMIT.as_secs()), HINT))?
        .map_err(|error| Stop::failed(format!("git can't be started: {error}"), "install git"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = one_line(String::from_utf8_lossy(&said).trim(), 300);
    Err(Stop::failed(format!("git {name} failed: {said}"), HINT))
}

pub async fn is_clean(root: &Path) -> Result<bool, Stop> {
    Ok(git(root, &["status", "--porcelain"]).await?.trim().is_empty())
}

pub async fn is_at_head(root: &Path) -> bool {
    git(root, &["diff", "--quiet", "HEAD"]).await.is_ok()
}

/// Commits everything, if there is anything. The build's own folder is ignored.
pub async fn commit(root: &Path, subject: &str) -> Result<(), Stop> {
    git(root, &["add", "--all"]).await?;
    if git(root, &["diff", "--cached", "--quiet"]).await.is_ok() {
        return Ok(());
    }
    git(root, &["commit", "--quiet", "--message", &one_line(subject, 72)]).await.map(drop)
}

pub struct Worktree {
    pub path: PathBuf,
    pub branch: String,
}

impl Worktree {
    /// Creates it from HEAD, or reuses what an earlier run left.
    pub async fn open(root: &Path, path: &Path, branch: String) -> Result<Self, Stop> {
        if !path.join(".git").exists() {
            let shown = path.to_string_lossy();
            let add = ["worktree", "add", "--quiet", "--force"];
            // A branch left by an earlier run has work on it.
            if git(root, &[&add[..], &[&shown, &branch]].concat()).await.is_err() {
                git(root, &[&add[..], &["-b", &branch, &shown, "HEAD"]].concat()).await?;
            }
        }
        Ok(Self { path: path.to_owned(), branch })
    }

    /// Merges its commits into the project; returns the conflicting files.
    pub async fn merge(&self, root: &Path) -> Result<Vec<String>, Stop> {
        match git(root, &["merge", "--quiet", "--no-edit", &self.branch]).await {
            Ok(_) => Ok(Vec::new()),
            Err(stop) => {
                let unmerged = git(root, &["diff", "--name-only", "--diff-filter=U"]).await?;
                let files: Vec<String> = unmerged.lines().map(str::to_owned).collect();
                if files.is_empty() { Err(stop) } else { Ok(files) }
            }
        }
    }

    /// Resets the files to the branch: the run that made the worktree may have been killed midway.
    pub async fn reset(&self) -> Result<(), Stop> {
        git(&self.path, &["reset", "--quiet", "--hard"]).await.map(drop)
    }

    /// Removes the folder but not the branch.
    pub async fn leave(&self, root: &Path) {
        let _ = git(root, &["worktree", "remove", "--force", &self.path.to_string_lossy()]).await;
    }

    /// Removes the folder and the merged branch.
    pub async fn remove(self, root: &Path) {
        self.leave(root).await;
        let _ = git(root, &["branch", "--delete", &self.branch]).await;
    }
}

/// Commits a merge if no conflict markers are left.
pub async fn conclude_merge(root: &Path, files: &[String]) -> Result<(), Stop> {
    for file in files {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        if text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")) {
            return Err(Stop::failed(format!("{file} still has conflict marks"), HINT));
        }
    }
    git(root, &["add", "--all"]).await?;
    git(root, &["commit", "--quiet", "--no-edit"]).await.map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Paused time moves on by itself while the program sleeps.
    #[tokio::test(start_paused = true)]
    async fn git_has_a_time_limit() {
        let mut hangs = Command::new("sleep");
        hangs.arg("1000");
        let Err(Stop::Failed { message, .. }) = output(hangs, "merge").await else { unreachable!() };
        assert!(message.contains("git merge took more than 300 s"), "{message}");
    }

    #[tokio::test]
    async fn git_opens_no_editor() {
        let folder = tempfile::tempdir().unwrap();
        let told = git(folder.path(), &["var", "GIT_EDITOR"]).await.ok();
        assert_eq!(told.as_deref().map(str::trim), Some("true"));
    }
}
