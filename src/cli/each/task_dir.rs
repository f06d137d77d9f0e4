//! Where a batch's task works: a git worktree, a copied folder, or the folder itself.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cli::report::{Failure, OrFail};
use agent::build::git::{self, Worktree};
use base::config::files::answers;
use base::config::paths::Paths;
use base::config::trusted::trust;
use base::process::task;
use base::repository;
use base::system::os;

pub const FOLDER: &str = ".mycode/each";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    Worktree,
    Copy,
    InPlace,
}

impl Isolation {
    pub fn of(dir: &Path, copy: bool) -> Self {
        match repository::root(dir) {
            _ if copy => Self::Copy,
            Some(_) => Self::Worktree,
            None => Self::InPlace,
        }
    }

    pub fn needs_git(dir: &Path, why: &str) -> Result<(), Failure> {
        match Self::of(dir, false) {
            Self::Worktree => Ok(()),
            _ => Err(Failure::usage(why, "`git init`, then commit what is there")),
        }
    }
}

pub struct TaskDir {
    pub folder: PathBuf,
    pub tree: Option<Worktree>,
}

impl TaskDir {
    /// Makes the folder of a task in `dir`, or reuses what an earlier run left at `own`.
    pub async fn open(kind: Isolation, dir: &Path, own: &Path, branch: String) -> Result<Self, String> {
        let place = match kind {
            Isolation::InPlace => return Ok(Self { folder: dir.to_owned(), tree: None }),
            Isolation::Copy => {
                let (from, to) = (dir.to_owned(), own.to_owned());
                let copied = task::blocking(move || copy(&from, &to)).await;
                copied
                    .map_err(io::Error::other)
                    .flatten()
                    .map_err(|error| format!("the folder can't be copied: {error}"))?;
                Self { folder: own.to_owned(), tree: None }
            }
            Isolation::Worktree => {
                let root = repository::root(dir).unwrap_or(dir);
                let inner = dir.strip_prefix(root).unwrap_or(Path::new(""));
                let tree = Worktree::of_present(root, own, branch).await.map_err(|stop| stop.to_string())?;
                let folder: PathBuf = own.components().chain(inner.components()).collect();
                if !folder.is_dir() {
                    return Err(format!("{} is not in git, so no worktree has it", inner.display()));
                }
                Self { folder, tree: Some(tree) }
            }
        };
        let paths = Paths::from_env();
        let (of_project, own) = (paths.project(dir), paths.project(&place.folder));
        trust::inherit(&of_project, &own)
            .and_then(|()| answers::inherit(&of_project, &own))
            .map_err(|error| format!("the project's trust and rules can't be recorded: {error}"))?;
        Ok(place)
    }

    /// Commits what a worktree's task changed; returns whether it changed anything.
    pub async fn commit(&self, dir: &Path, subject: &str, is_done: bool) -> Result<bool, String> {
        let Some(tree) = &self.tree else { return Ok(false) };
        tree.commit(subject).await.map_err(|stop| stop.to_string())?;
        if is_done {
            // Work that builds on uncommitted files stays on top of them until they are committed.
            let _ = tree.on_top(dir).await;
        }
        Ok(!git::changed_by(dir, &tree.branch).await.is_ok_and(|changed| changed.is_empty()))
    }

    /// Removes the worktree, and its branch if nothing is on it.
    pub async fn close(self, dir: &Path, changed: bool) {
        let Some(tree) = self.tree else { return };
        if changed {
            tree.leave(dir).await;
        } else {
            drop(git::discard(dir, &tree.path, &tree.branch).await);
        }
    }
}

/// Makes the folder for a batch's own files, which git ignores.
pub fn make(root: &Path, batch: &Path) -> Result<(), Failure> {
    let made =
        fs::create_dir_all(batch).and_then(|()| fs::write(root.join(FOLDER).join(".gitignore"), "*\n"));
    let hint = "check the permissions of this folder and the disk space";
    made.or_task(format!("can't make {}", batch.display()), hint)
}

/// Copies a folder completely or not at all, without `.git` and the folders of batches.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    let partial = to.with_file_name(format!(
        "{}.partial",
        to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    ));
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    let batches = from.join(FOLDER);
    let entries = walkdir::WalkDir::new(from).into_iter();
    for entry in entries.filter_entry(|entry| entry.file_name() != ".git" && entry.path() != batches) {
        let entry = entry?;
        let target = partial.join(entry.path().strip_prefix(from).unwrap_or(entry.path()));
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
        } else if kind.is_symlink() {
            os::make_link(&fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    fs::rename(&partial, to)
}
