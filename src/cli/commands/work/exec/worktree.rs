//! `mycode exec --worktree`: the task works in a git worktree made from the files as they are; what it changed is a
//! branch for `mycode work`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::ExecArgs;
use super::task::{self, RunPlace};
use crate::cli::args::SharedArgs;
use crate::cli::each::task_dir::{self, FOLDER, Isolation, TaskDir};
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open::{self, SessionSelector};
use agent::build::git;
use base::config::paths::Paths;
use base::file;
use base::text::one_line;
use frontend::exec::output_schema::OutputSchema;
use guard::redact::detector;

/// A worktree for one task or build, made from the files as they are.
pub struct OwnTree {
    pub place: TaskDir,
    root: PathBuf,
    /// `exec` or `build`: the name of all of them together, as a batch has one.
    kind: &'static str,
    id: String,
}

impl OwnTree {
    /// Makes it, or reuses what an earlier run left.
    pub async fn open(root: &Path, kind: &'static str, id: &str) -> Result<Self, Failure> {
        let folder = root.join(FOLDER).join(kind);
        task_dir::make(root, &folder)?;
        let branch = format!("mycode/each/{kind}/{id}");
        let opened = TaskDir::open(Isolation::Worktree, root, &folder.join(id), branch).await;
        let place = opened.or_task("there is no worktree for this task", "see what `git status` says")?;
        let tree = Self { place, root: root.to_owned(), kind, id: id.to_owned() };
        tree.note(&json!({"type": "session", "id": id, "workspace": tree.place.folder}))?;
        Ok(tree)
    }

    /// The id of an earlier one, by its beginning.
    pub fn earlier(root: &Path, kind: &str, wanted: &str) -> Option<String> {
        let found = std::fs::read_dir(root.join(FOLDER).join(kind)).into_iter().flatten().flatten();
        let names = found.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids = names.filter_map(|name| Some(name.strip_suffix(".events.jsonl")?.to_owned()));
        ids.find(|id| id.starts_with(wanted))
    }

    /// Of the project that it was made from.
    pub fn project_state(&self) -> PathBuf {
        Paths::from_env().project(&self.root)
    }

    /// Commits what was changed and says where it is.
    pub async fn end(self, task: &str, result: &Result<u8, Failure>) -> Result<(), Failure> {
        let Self { ref root, kind, ref id, .. } = self;
        let code = result.as_ref().map_or_else(|failure| failure.kind as u8, |code| *code);
        let subject = format!("mycode: {}", one_line(&detector::redact(task), 60));
        let hint = format!("the files are in {}", self.place.folder.display());
        let committed = self.place.commit(root, &subject, code == 0).await;
        let changed = committed.or_task("the changes can't be committed", hint)?;
        self.note(&json!({"type": "turn_ended", "exit_code": code}))?;
        if changed {
            report::note(&format!(
                "the changes are on mycode/each/{kind}/{id}: `mycode work diff {id}` shows them, `mycode work merge {id}` merges them"
            ));
        } else if result.is_ok() {
            report::note("nothing was changed, so there is no branch");
        }
        // An unfinished task whose files are unchanged begins anew when it is continued.
        if code == 0 || !changed {
            self.place.close(root, changed).await;
        }
        Ok(())
    }

    fn note(&self, line: &Value) -> Result<(), Failure> {
        let events = self.root.join(FOLDER).join(self.kind).join(format!("{}.events.jsonl", self.id));
        let mut file = file::open_private(OpenOptions::new().append(true).create(true), &events)?;
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }
}

/// Whether commits in the project itself would take in changes of the user's.
pub async fn is_needed(root: &Path) -> bool {
    Isolation::of(root, false) == Isolation::Worktree
        && git::uncommitted(root).await.is_ok_and(|found| !found.is_empty())
}

pub async fn run(
    cli: &SharedArgs,
    args: &ExecArgs,
    which: &SessionSelector,
    schema: Option<OutputSchema>,
    run_id: &str,
) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    Isolation::needs_git(&root, "--worktree needs a git repository")?;
    let id = match which {
        SessionSelector::Id(id) => OwnTree::earlier(&root, "exec", id).ok_or_else(|| {
            Failure::usage(
                format!("no task in a worktree has the session {id}"),
                "leave out --worktree to continue any other session",
            )
        })?,
        _ => run_id.to_owned(),
    };
    let tree = OwnTree::open(&root, "exec", &id).await?;
    let mut inner = cli.clone();
    inner.model.folder = Some(tree.place.folder.clone());
    let run = RunPlace { id: run_id, started_in: Some(&root), session: &id };
    let result = task::run(&inner, args, which, schema, run).await;
    tree.end(args.prompt.as_deref().unwrap_or_default(), &result).await?;
    result
}
