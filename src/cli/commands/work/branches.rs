//! `mycode work`: the branches that batches and builds left, from a look at them to their end.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use crate::cli::args::SharedArgs;
use crate::cli::each::child::TaskOutput;
use crate::cli::each::sessions;
use crate::cli::each::task_dir::FOLDER;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::{agent_setup, open};
use agent::build::git::{self, Worktree};
use agent::build::progress::Show;
use agent::build::prompts;
use agent::build::roles::{RoleStart, RoleTask, Roles};
use agent::qa::checks::{self, CheckOutcome, CheckRunner};
use base::text::{one_line, plural};
use context::report::session;

const PREFIX: &str = "mycode/";
const TASK_CHARS: usize = 60;

#[derive(Args, Debug)]
pub struct WorkArgs {
    #[command(subcommand)]
    pub command: Option<WorkCommand>,
}

/// NAME is a branch, or the end of its name.
#[derive(Subcommand, Debug)]
pub enum WorkCommand {
    /// List the branches with their task, files, state and cost
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show what a branch changes
    Diff { name: String },
    /// Run the project's checks, in the sandbox, on a branch with your files as they are; 1 if one fails
    Test { name: String },
    /// Merge a branch and remove it; conflicts are resolved by the model, away from your files
    Merge { name: String },
    /// Remove a branch and everything that is only on it
    Discard { name: String },
}

#[derive(Serialize)]
struct TaskBranch {
    #[serde(rename = "branch")]
    name: String,
    task: String,
    files: Vec<String>,
    session: Option<String>,
    exit_code: Option<u8>,
    #[serde(skip)]
    state: String,
    cost_usd: Option<f64>,
}

pub async fn run(cli: &SharedArgs, args: &WorkArgs) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    match args.command.as_ref().unwrap_or(&WorkCommand::List { json: false }) {
        WorkCommand::List { json } => list(&root, *json).await.map(|()| 0),
        WorkCommand::Diff { name } => {
            let branch = settled(&root, name).await?;
            let diff = git::diff_by(&root, &branch).await.or_task("git can't show it", HINT)?;
            report::say(&diff).map(|()| 0)
        }
        WorkCommand::Test { name } => test(cli, &root, &settled(&root, name).await?).await,
        WorkCommand::Merge { name } => merge(cli, &root, &settled(&root, name).await?).await,
        WorkCommand::Discard { name } => {
            let branch = settled(&root, name).await?;
            git::discard(&root, &folder_of(&root, &branch), &branch).await.or_task("it stays", HINT)?;
            report::say(&format!("Removed {branch}.\n")).map(|()| 0)
        }
    }
}

const HINT: &str = "`git status` and `git branch` show the state of the repository";

async fn branches(root: &Path) -> Result<Vec<String>, Failure> {
    let hint = "change to a git repository in which a batch or build has worked";
    git::branches(root, PREFIX).await.or_usage("there are no branches to list", hint)
}

async fn find(root: &Path, name: &str) -> Result<String, Failure> {
    let all = branches(root).await?;
    let exact = all.iter().find(|branch| *branch == name).cloned();
    let mut fitting = all.into_iter().filter(|branch| branch.ends_with(&format!("/{name}")));
    match (exact.or_else(|| fitting.next()), fitting.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::usage(format!("no branch {name}"), "`mycode work list` lists them")),
        (Some(one), Some(other)) => Err(Failure::usage(
            format!("{name} matches {one} and {other}"),
            "type more of the name, such as BATCH/ID",
        )),
    }
}

/// Finds the branch, and commits what an interrupted task left in its folder, so that it isn't lost.
async fn settled(root: &Path, name: &str) -> Result<String, Failure> {
    let name = find(root, name).await?;
    if folder_of(root, &name).join(".git").exists() {
        let (_, log) = session_of(root, &name);
        if log.is_some_and(|log| sessions::is_running(&log)) {
            let hint = "wait for it, or end it: `mycode ps` lists what is running";
            return Err(Failure::usage(format!("the task of {name} is still running"), hint));
        }
        let tree = open_tree(root, &name).await?;
        tree.commit("mycode: unfinished work").await.or_task("git can't commit what is there", HINT)?;
    }
    Ok(name)
}

fn session_of(root: &Path, name: &str) -> (TaskOutput, Option<PathBuf>) {
    let events = format!("{}.events.jsonl", folder_of(root, name).display());
    let output = TaskOutput::read(Path::new(&events), 0);
    let log = output.session.as_ref().and_then(|id| sessions::find(root, id));
    (output, log)
}

fn folder_of(root: &Path, branch: &str) -> PathBuf {
    let name = branch.strip_prefix(PREFIX).unwrap_or(branch);
    root.join(FOLDER).join(name.strip_prefix("each/").unwrap_or(name))
}

async fn branch(root: &Path, name: String) -> TaskBranch {
    let (output, log) = session_of(root, &name);
    let mut files = git::changed_by(root, &name).await.unwrap_or_default();
    let folder = folder_of(root, &name);
    if folder.join(".git").exists() {
        let more = git::uncommitted(&folder).await.unwrap_or_default();
        files.extend(more.iter().map(|path| path.to_string_lossy().into_owned()));
        files.sort();
        files.dedup();
    }
    let session = log.and_then(|log| session::read(&log, 0).ok().flatten()).unwrap_or_default();
    TaskBranch {
        files,
        task: session.title,
        state: output.state(),
        session: output.session,
        exit_code: output.exit_code,
        cost_usd: session.figures.cost_usd(),
        name,
    }
}

async fn list(root: &Path, json: bool) -> Result<(), Failure> {
    let mut out = String::new();
    for name in branches(root).await? {
        let found = branch(root, name).await;
        if json {
            out.push_str(&format!("{}\n", json!(found)));
            continue;
        }
        let cost = found.cost_usd.map_or(String::new(), |cost| format!("  ${cost:.2}"));
        let files = plural(found.files.len(), "file");
        let task = one_line(&found.task, TASK_CHARS);
        out.push_str(&format!("{}  {}  {files}{cost}  {task}\n", found.name, found.state));
    }
    if out.is_empty() && !json {
        out.push_str("No branches of batches or builds. `mycode exec --worktree` and `--each` make them.\n");
    }
    report::show(json, &out)
}

async fn open_tree(root: &Path, branch: &str) -> Result<Worktree, Failure> {
    let tree = Worktree::open(root, &folder_of(root, branch), branch.to_owned()).await;
    tree.or_task(format!("there is no worktree for {branch}"), HINT)
}

async fn test(cli: &SharedArgs, root: &Path, branch: &str) -> Result<u8, Failure> {
    let session = agent_setup::roles(cli).await?;
    let was_there = folder_of(root, branch).exists();
    let tree = open_tree(root, branch).await?;
    // As it would be after a merge.
    tree.with_present(root).await.or_task("the files of the project can't be added", HINT)?;
    let agents = session.setup.agents_in(&tree.path);
    let known = checks::of_project(&tree.path, &[]);
    let cancel = agents.dispatcher.cx.cancel.clone();
    let window_tokens = session.setup.loaded.context.window_tokens;
    let runner = CheckRunner { dispatcher: &agents.dispatcher, window_tokens, cancel, questions: None };
    let (mut out, mut failed) = (String::new(), known.is_empty());
    for check in &known {
        let Some(result) = runner.run(check).await else { continue };
        failed |= result.outcome != CheckOutcome::Passed;
        out.push_str(&format!("{}\n", checks::text(&[result])));
    }
    tree.without_present().await;
    if !was_there {
        tree.leave(root).await;
    }
    report::say(if known.is_empty() { "No check found in this project.\n" } else { &out })?;
    Ok(u8::from(failed))
}

async fn merge(cli: &SharedArgs, root: &Path, branch: &str) -> Result<u8, Failure> {
    let task = self::branch(root, branch.to_owned()).await.task;
    let tree = open_tree(root, branch).await?;
    tree.on_top(root)
        .await
        .or_task(format!("{branch} can't be merged yet"), "commit your changes, then try again")?;
    let before = git::head(&tree.path).await.or_task(format!("{branch} can't be merged"), HINT)?;
    let conflicts = tree.catch_up(root).await.or_task(format!("{branch} can't be merged"), HINT)?;
    if !conflicts.is_empty() {
        eprintln!(
            "Conflicts in {}: the model is resolving them in {}.",
            conflicts.join(", "),
            tree.path.display()
        );
        let agents = agent_setup::roles(cli).await?;
        let elsewhere = agents.setup.agents_in(&tree.path);
        let mut roles = Roles::new(agents, Show::new(false, None));
        let part = RoleTask::new("qa_fixer", format!("merge of {branch}"), prompts::merge(&task, &conflicts));
        let part = RoleTask { elsewhere: Some(elsewhere), start: RoleStart::Fresh, ..part };
        let hint = "merge it by hand, or try again with another --model; your files are unchanged";
        let fixer = roles.work(part).await.or_task("the conflicts are not resolved", hint)?;
        tree.conclude(root, (&before, &conflicts), &fixer)
            .await
            .or_task("the conflicts are not resolved", hint)?;
    }
    let hint = "commit or stash your changes to these files, then try again";
    tree.deliver(root).await.or_task(format!("{branch} is not merged"), hint)?;
    tree.remove(root).await;
    report::say(&format!("Merged {branch}.\n")).map(|()| 0)
}
