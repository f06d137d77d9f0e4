//! `mycode build`: takes a task through spec, plan, code and review, headless.

use std::pin::pin;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::exec::worktree;
use crate::cli::args::{STAGES, SharedArgs, UNATTENDED_WAIT, choice};
use crate::cli::each::own_tree::OwnTree;
use crate::cli::report::{self, Failure};
use crate::cli::runs::background::{self, BackgroundArgs};
use crate::cli::runs::record::{self, HeldRun, RunKind, RunRecord};
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::{self, SessionSelector};
use agent::assemble::{self, RoleSession};
use agent::build::progress::Show;
use agent::build::run;
use agent::build::state::{BuildFolder, BuildOptions};
use base::process::signals::interrupts;
use base::protocol::exit_code::ExitCode;

const HELP: &str = include_str!("../../help/build.txt");

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct BuildArgs {
    /// The task; `-` reads standard input
    pub task: Option<String>,

    /// Continue this build (its id, or a prefix of it)
    #[arg(long, value_name = "ID", conflicts_with = "task")]
    pub resume: Option<String>,

    /// Continue the last build
    #[arg(long, conflicts_with_all = ["task", "resume"])]
    pub last: bool,

    /// List this project's builds
    #[arg(long)]
    pub list: bool,

    /// Stop after a stage, so that you can edit its file: spec, plan, code or review
    #[arg(long, value_name = "STAGE", hide_possible_values = true, value_parser = choice::<String>(STAGES))]
    pub pause_after: Option<String>,

    /// Commit each subtask; with uncommitted changes, on a branch for `mycode work merge`
    #[arg(long)]
    pub commit: bool,

    /// Do up to N independent subtasks at the same time, in git worktrees (implies --commit)
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub parallel: usize,

    #[command(flatten)]
    pub background: BackgroundArgs,

    /// Print one JSON event per line
    #[arg(long)]
    pub json: bool,
}

const LAST_WRITES: Duration = Duration::from_millis(300);

pub async fn run(cli: &SharedArgs, args: &BuildArgs) -> Result<u8, Failure> {
    if args.list {
        return list(cli);
    }
    if args.background.bg {
        return background::start(cli.model.folder.as_deref(), args.json).await;
    }
    let run_id = args.background.begin();
    let which = match (&args.resume, args.last) {
        (Some(id), _) => SessionSelector::Id(id.clone()),
        (None, true) => SessionSelector::Id(last(cli)?),
        (None, false) => SessionSelector::New,
    };
    let task = match args.task.as_deref() {
        Some("-") => Some(report::standard_input()?),
        task => task.map(str::to_owned),
    };
    if matches!(which, SessionSelector::New) && task.as_deref().is_none_or(|task| task.trim().is_empty()) {
        let hint =
            "describe the task: mycode build \"add a --json flag\", or continue with --resume ID or --last";
        return Err(Failure::usage("the task is empty", hint));
    }
    let mut cli = cli.clone();
    cli.model.default_wait = Some(UNATTENDED_WAIT);
    let root = open::workspace(cli.model.folder.as_deref())?;
    let commit = args.commit || args.parallel > 1;
    let tree = match &which {
        SessionSelector::Id(id) => OwnTree::earlier(&root, "build", id),
        _ => (commit && worktree::is_needed(&root).await).then(|| run_id.clone()),
    };
    let tree = match tree {
        Some(id) => Some(OwnTree::open(&root, "build", &id).await?),
        None => None,
    };
    if let Some(tree) = &tree {
        cli.model.folder = Some(tree.place.folder.clone());
        report::note(&format!(
            "the build leaves your uncommitted changes alone and works in {}",
            tree.place.folder.display()
        ));
    }
    let mut setup = agent_setup::setup(&cli, false, &which).await?;
    setup.session_id = Some(run_id.clone());
    let project_state = tree.as_ref().map_or_else(|| setup.project_state.clone(), OwnTree::project_state);
    let session = assemble::roles(setup)?;
    let id = session.conversation.id.clone();
    let asked = task.clone().or_else(|| BuildFolder::open(&root, &id).ok()?.read("task.md"));
    let asked = asked.unwrap_or_default();
    let record = RunRecord {
        session: Some(id),
        tree: tree.as_ref().map(|tree| tree.place.folder.clone()),
        ..RunRecord::new(&run_id, RunKind::Build, &asked, &root)
    };
    let options = BuildOptions {
        pause_after: args.pause_after.clone(),
        commit,
        parallel: args.parallel,
        kept_in: Some(root),
    };
    let log = record::new_log(&record::path_of(&project_state, &run_id)).ok();
    let show = Show::new(args.json, log);
    let work = async {
        let result = match drive(session, task.as_deref(), options, show).await {
            None => Ok(ExitCode::Interrupted as u8),
            Some((_, code)) if args.json => Ok(code),
            Some((text, code)) => report::say(&text).map(|()| code),
        };
        // A paused or interrupted build continues there.
        let ended = args.pause_after.is_none() && matches!(result, Ok(0 | 11));
        if let Some(tree) = tree.filter(|_| ended) {
            tree.end(&asked, &result).await?;
        }
        result
    };
    HeldRun::during(&project_state, &record, work).await
}

/// Returns the report and exit code, or `None` after a second interrupt.
pub async fn drive(
    mut session: RoleSession,
    task: Option<&str>,
    options: BuildOptions,
    show: Show,
) -> Option<(String, u8)> {
    let cancel = CancellationToken::new();
    session.agents.dispatcher.cx.cancel = cancel.clone();
    let done = until_second_interrupt(run::run(session, task, options, show), &cancel).await;
    if done.is_none() {
        tokio::time::sleep(LAST_WRITES).await;
    }
    done
}

/// The first interrupt cancels the work; returns `None` after a second one.
pub async fn until_second_interrupt<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
) -> Option<T> {
    let (mut work, mut interrupts) = (pin!(work), pin!(interrupts()));
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            Some(()) = interrupts.next() => {
                if cancel.is_cancelled() {
                    return None;
                }
                cancel.cancel();
            }
        }
    }
}

fn last(cli: &SharedArgs) -> Result<String, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    BuildFolder::ids(&root).pop().ok_or_else(|| {
        Failure::usage("this project has no builds yet", "start one with `mycode build \"task\"`")
    })
}

fn list(cli: &SharedArgs) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    let mut out = String::new();
    for id in BuildFolder::ids(&root) {
        let folder = BuildFolder::open(&root, &id).map_err(|error| Failure::task(error, "try again"))?;
        let first = folder.read("report.md").and_then(|text| text.lines().next().map(str::to_owned));
        let state = first.as_deref().and_then(|line| line.rsplit(": ").next()).unwrap_or("unfinished");
        let task = folder.read("task.md").unwrap_or_default();
        out.push_str(&format!("{id}  {state:<12}  {}\n", base::text::one_line(&task, 100)));
    }
    report::say(if out.is_empty() { "No builds yet.\n" } else { &out })?;
    Ok(0)
}
