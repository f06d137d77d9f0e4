//! Git for builds: one commit per subtask, and worktrees for parallel ones.

use std::path::{Path, PathBuf};

use super::roles::Stop;
use base::pattern::Pattern;
use base::process::git::{self, GitError};
use base::text::one_line;
use context::session::log;
use tools::sub_agent::SubReport;

const HINT: &str = "fix that in the repository, then run the build again with --resume";

fn stop(error: GitError) -> Stop {
    let hint = error.hint(HINT);
    Stop::failed(error, hint)
}

async fn git(folder: &Path, args: &[&str]) -> Result<String, Stop> {
    git::run(folder, args).await.map_err(stop)
}

/// Excludes what no commit should contain: Python's caches, and leftovers of a killed write.
const WORK: [&str; 4] =
    ["--", ":/", ":(top,exclude,glob)**/__pycache__/**", ":(top,exclude,glob)**/.mycode-write-*.tmp"];

/// Stages all work, in `own` or in git's index. Leaves out inner repositories: git refuses one without a commit.
async fn add_all(root: &Path, own: Option<&Path>, options: &[&str]) -> Result<(), Stop> {
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--", ":/"];
    let found = git(root, &status).await?;
    let inner = found.split('\0').filter_map(|entry| entry.strip_prefix("?? ")?.strip_suffix('/'));
    let inner: Vec<String> = inner.map(|path| format!(":(top,exclude,literal){path}")).collect();
    let inner = inner.iter().map(String::as_str);
    let args: Vec<&str> = ["add", "--all"].iter().chain(options).chain(&WORK).copied().chain(inner).collect();
    git::run_with(root, &args, own).await.map(drop).map_err(stop)
}

/// Files with uncommitted changes: paths below `root` relative to it, others relative to the repository.
pub async fn uncommitted(root: &Path) -> Result<Vec<PathBuf>, Stop> {
    let below = git(root, &["rev-parse", "--show-prefix"]).await?;
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let found = git(root, &[&status[..], &WORK].concat()).await?;
    let paths = found.split('\0').filter_map(|entry| entry.get(3..)).map(Path::new);
    Ok(paths.map(|path| path.strip_prefix(below.trim_end()).unwrap_or(path).to_owned()).collect())
}

/// Files that git neither tracks nor ignores.
pub async fn untracked(root: &Path) -> Result<Vec<String>, Stop> {
    let found = git(root, &["ls-files", "--others", "--exclude-standard", "-z"]).await?;
    Ok(found.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

pub async fn remove_untracked(root: &Path, files: &[String]) -> Result<(), Stop> {
    let clean = ["--literal-pathspecs", "clean", "--quiet", "--force", "--"];
    let names = files.iter().map(String::as_str);
    git(root, &clean.into_iter().chain(names).collect::<Vec<_>>()).await.map(drop)
}

pub async fn head(root: &Path) -> Result<String, Stop> {
    Ok(git(root, &["rev-parse", "HEAD"]).await?.trim().to_owned())
}

const MIDDLE_MARK: &str = "=======";

/// Subject of a commit that holds uncommitted files.
const SNAPSHOT: &str = "mycode: files that were not committed when the task began";

/// A commit with all files as they are, including new ones: HEAD, or a new one that is on no branch.
async fn snapshot(root: &Path) -> Result<String, Stop> {
    let head = head(root).await?;
    if uncommitted(root).await?.is_empty() {
        return Ok(head);
    }
    let name = format!("mycode-index-{}", log::new_id());
    let own = git(root, &["rev-parse", "--path-format=absolute", "--git-path", &name]).await?;
    let own = PathBuf::from(own.trim_end());
    let tree = async {
        copy_index(root, &own).await?;
        add_all(root, Some(&own), &[]).await?;
        with_index(root, &own, &["write-tree"]).await
    };
    let tree = tree.await;
    let _ = std::fs::remove_file(&own);
    Ok(git(root, &["commit-tree", tree?.trim(), "-p", &head, "-m", SNAPSHOT]).await?.trim().to_owned())
}

/// A branch's base: the snapshot that it began with, or the commit that it shares with the project.
pub async fn base_of(root: &Path, branch: &str) -> Result<String, Stop> {
    if let Some(base) = snapshot_in(root, branch).await? {
        return Ok(base);
    }
    Ok(git(root, &["merge-base", "HEAD", branch]).await?.trim().to_owned())
}

async fn snapshot_in(root: &Path, branch: &str) -> Result<Option<String>, Stop> {
    let grep = format!("--grep={SNAPSHOT}");
    let range = format!("HEAD..{branch}");
    let found = git(root, &["rev-list", "--max-count=1", "--fixed-strings", &grep, &range]).await?;
    Ok(Some(found.trim().to_owned()).filter(|found| !found.is_empty()))
}

pub async fn diff_of(root: &Path, commit: &str) -> Result<String, Stop> {
    git(
        root,
        &["show", "--no-ext-diff", "--no-textconv", "--no-color", "--format=", "--end-of-options", commit],
    )
    .await
}

/// The diff from where `base` split off to the current files, including new ones. `own` is a path for a copy of git's index.
pub async fn diff_since(root: &Path, base: &str, own: &Path) -> Result<String, Stop> {
    let from = git(root, &["merge-base", "HEAD", "--end-of-options", base]).await?;
    copy_index(root, own).await?;
    add_all(root, Some(own), &["--intent-to-add"]).await?;
    let diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", from.trim_end()];
    with_index(root, own, &[&diff[..], &WORK].concat()).await
}

async fn with_index(root: &Path, own: &Path, args: &[&str]) -> Result<String, Stop> {
    git::run_with(root, args, Some(own)).await.map_err(stop)
}

/// Copies git's index with its time, which git needs to detect files that changed at that same time.
async fn copy_index(root: &Path, own: &Path) -> Result<(), Stop> {
    let index = git(root, &["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
    let copy = |index: &Path| {
        std::fs::copy(index, own)?;
        let changed = std::fs::metadata(index)?.modified()?;
        std::fs::File::options().write(true).open(own)?.set_modified(changed)
    };
    copy(Path::new(index.trim_end()))
        .map_err(|error| Stop::failed(format!("git's index can't be read: {error}"), HINT))
}

pub async fn branches(root: &Path, prefix: &str) -> Result<Vec<String>, Stop> {
    let found =
        git(root, &["for-each-ref", "--format=%(refname:short)", &format!("refs/heads/{prefix}")]).await?;
    Ok(found.lines().map(str::to_owned).collect())
}

/// The files that a branch changes, relative to its base.
pub async fn changed_by(root: &Path, branch: &str) -> Result<Vec<String>, Stop> {
    let found = git(root, &["diff", "--name-only", "-z", &base_of(root, branch).await?, branch]).await?;
    Ok(found.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

pub async fn diff_by(root: &Path, branch: &str) -> Result<String, Stop> {
    let base = base_of(root, branch).await?;
    git(root, &["diff", "--no-ext-diff", "--no-textconv", "--no-color", &base, branch]).await
}

pub fn is_test(path: &str) -> bool {
    static TEST: Pattern = Pattern::new(include_str!("test_file.regex"));
    TEST.is_match(path)
}

#[derive(Default)]
pub struct BranchSize {
    pub removes_tests: bool,
    pub added: u64,
    pub removed: u64,
    pub files: usize,
}

/// What a branch changes; a binary file counts as one line of each.
pub async fn size_of(root: &Path, branch: &str) -> Result<BranchSize, Stop> {
    let base = base_of(root, branch).await?;
    let numbers = ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let found = git(root, &[&numbers[..], &[&base, branch]].concat()).await?;
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok()).unwrap_or(1);
    let mut size = BranchSize::default();
    for line in found.split('\0').filter(|line| !line.is_empty()) {
        let mut words = line.splitn(3, '\t');
        let (added, removed): (u64, u64) = (number(words.next()), number(words.next()));
        size.removes_tests |= removed > 0 && words.next().is_some_and(is_test);
        (size.added, size.removed, size.files) = (size.added + added, size.removed + removed, size.files + 1);
    }
    Ok(size)
}

pub async fn discard(root: &Path, path: &Path, branch: &str) -> Result<(), Stop> {
    let _ = git(root, &["worktree", "remove", "--force", &path.to_string_lossy()]).await;
    git(root, &["worktree", "prune"]).await?;
    git(root, &["branch", "--delete", "--force", branch]).await.map(drop)
}

/// Commits everything, if anything changed. The build's own folder is ignored.
pub async fn commit(root: &Path, subject: &str) -> Result<(), Stop> {
    add_all(root, None, &[]).await?;
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
    /// Creates it with the files as they are, or reuses what an earlier run left.
    pub async fn of_present(root: &Path, path: &Path, branch: String) -> Result<Self, Stop> {
        let is_new = !path.join(".git").exists() && branches(root, &branch).await?.is_empty();
        if is_new {
            git(root, &["branch", "--no-track", &branch, &snapshot(root).await?]).await?;
        }
        Self::open(root, path, branch).await
    }

    /// Creates it from HEAD, or reuses what an earlier run left.
    pub async fn open(root: &Path, path: &Path, branch: String) -> Result<Self, Stop> {
        if path.join(".git").exists() {
            // Abort what an earlier run left unfinished; usually there is nothing.
            let _ = git(path, &["merge", "--abort"]).await;
            let _ = git(path, &["rebase", "--abort"]).await;
        } else {
            let shown = path.to_string_lossy();
            let add = ["worktree", "add", "--quiet", "--force"];
            // A branch left by an earlier run may have work on it.
            if git(root, &[&add[..], &[&shown, &branch]].concat()).await.is_err() {
                git(root, &[&add[..], &["-b", &branch, &shown, "HEAD"]].concat()).await?;
            }
        }
        Ok(Self { path: path.to_owned(), branch })
    }

    /// Commits everything. What was committed on another branch, or on none, comes to the worktree's own.
    pub async fn commit(&self, subject: &str) -> Result<(), Stop> {
        commit(&self.path, subject).await?;
        let on = git(&self.path, &["rev-parse", "--abbrev-ref", "HEAD"]).await?;
        if on.trim() == self.branch {
            return Ok(());
        }
        git(&self.path, &["checkout", "--quiet", "--detach"]).await?;
        if let Err(stop) = git(&self.path, &["merge", "--quiet", "--no-edit", &self.branch]).await {
            let _ = git(&self.path, &["merge", "--abort"]).await;
            return Err(stop);
        }
        git(&self.path, &["checkout", "--quiet", "-B", &self.branch]).await.map(drop)
    }

    pub async fn has_work(&self, base: &str) -> bool {
        git(&self.path, &["diff", "--quiet", base, "HEAD"]).await.is_err()
    }

    /// Rebases its commits onto the project's, without the snapshot of uncommitted files.
    pub async fn on_top(&self, root: &Path) -> Result<(), Stop> {
        let Some(base) = snapshot_in(root, &self.branch).await? else { return Ok(()) };
        let rebase = ["rebase", "--quiet", "--onto", &head(root).await?, &base];
        if git(&self.path, &rebase).await.is_ok() {
            return Ok(());
        }
        let conflicts = git(&self.path, &["diff", "--name-only", "--diff-filter=U"]).await?;
        git(&self.path, &["rebase", "--abort"]).await?;
        let still = uncommitted(root).await?;
        let still: Vec<_> = still.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let named: Vec<&str> =
            conflicts.lines().filter(|name| still.iter().any(|path| path == name)).collect();
        match named.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(Stop::failed(
                format!("it depends on uncommitted changes of yours, such as in {first}"),
                "commit them first",
            )),
        }
    }

    /// Adds the project's files as they are; undo with [`Self::without_present`].
    pub async fn with_present(&self, root: &Path) -> Result<(), Stop> {
        let present = snapshot(root).await?;
        if git(&self.path, &["merge", "--quiet", "--no-commit", "--no-ff", &present]).await.is_err() {
            self.without_present().await;
        }
        Ok(())
    }

    pub async fn without_present(&self) {
        // Fails if nothing was added.
        let _ = git(&self.path, &["merge", "--abort"]).await;
    }

    /// Merges the project's commits into the worktree, so that conflicts stay out of the project; returns the conflicting files.
    pub async fn catch_up(&self, root: &Path) -> Result<Vec<String>, Stop> {
        let head = head(root).await?;
        match git(&self.path, &["merge", "--quiet", "--no-edit", &head]).await {
            Ok(_) => Ok(Vec::new()),
            Err(stop) => {
                let unmerged = git(&self.path, &["diff", "--name-only", "--diff-filter=U"]).await?;
                let files: Vec<String> = unmerged.lines().map(str::to_owned).collect();
                if files.is_empty() { Err(stop) } else { Ok(files) }
            }
        }
    }

    /// Commits a resolved merge; resets to `before` if the fixer's last check failed, conflict marks remain or the
    /// project's commits are missing.
    pub async fn conclude(
        &self,
        root: &Path,
        (before, files): (&str, &[String]),
        fixer: &SubReport,
    ) -> Result<(), Stop> {
        let mut failed = fixer.failed_check.as_ref().map(|check| format!("after the fix, {check}"));
        for file in files {
            // A heading may be underlined with the same characters as the middle mark.
            let old = git(&self.path, &["show", "--end-of-options", &format!("{before}:{file}")]).await;
            let has_middle = |text: &str| text.lines().any(|line| line == MIDDLE_MARK);
            let underlines = old.is_ok_and(|old| has_middle(&old));
            let bytes = std::fs::read(self.path.join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
            if text.lines().any(is_mark) || !underlines && has_middle(&text) {
                failed = Some(format!("{file} still had conflict marks after the fix"));
            }
        }
        if failed.is_none() {
            add_all(&self.path, None, &[]).await?;
            // The fix may already be committed.
            let _ = git(&self.path, &["commit", "--quiet", "--no-edit"]).await;
            let is_merged = ["merge-base", "--is-ancestor", &head(root).await?, "HEAD"];
            let merged = git(&self.path, &is_merged).await;
            failed = merged.err().map(|_| "the conflicts were not resolved".to_owned());
        }
        let Some(why) = failed else { return Ok(()) };
        git(&self.path, &["reset", "--quiet", "--hard", before]).await?;
        Err(Stop::failed(
            format!("{why}, so {} was not merged into the project", self.branch),
            format!(
                "merge the branch {} by hand and check off its subtask in the plan, or let the build try again",
                self.branch
            ),
        ))
    }

    /// Merges its commits into the project. Nothing can conflict after [`Self::catch_up`].
    pub async fn deliver(&self, root: &Path) -> Result<(), Stop> {
        let merged = git::run(root, &["merge", "--quiet", "--no-edit", &self.branch]).await;
        let at = |error| Stop::failed(format!("in {}: {error}", root.display()), HINT);
        merged.map(drop).map_err(at)
    }

    /// Resets the files to the branch, because the run that made the worktree may have been killed midway.
    pub async fn reset(&self) -> Result<(), Stop> {
        git(&self.path, &["reset", "--quiet", "--hard"]).await.map(drop)
    }

    pub async fn leave(&self, root: &Path) {
        let _ = git(root, &["worktree", "remove", "--force", &self.path.to_string_lossy()]).await;
    }

    pub async fn remove(self, root: &Path) {
        self.leave(root).await;
        let _ = git(root, &["branch", "--delete", &self.branch]).await;
    }
}
