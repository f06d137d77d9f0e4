//! `mycode exec --worktree`: the task works in a git worktree made from the files as they are; what it changed is a
//! branch for `mycode work`.

use std::path::Path;

use super::args::ExecArgs;
use super::task::{self, RunPlace};
use crate::cli::args::SharedArgs;
use crate::cli::each::own_tree::OwnTree;
use crate::cli::each::task_dir::Isolation;
use crate::cli::report::Failure;
use crate::cli::setup::open::{self, SessionSelector};
use agent::build::git;
use frontend::exec::output_schema::OutputSchema;

/// Whether commits in the project itself would include the user's changes.
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
