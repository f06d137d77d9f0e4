//! `mycode exec --worktree`: the task works in a git worktree made from the files as they are; what it changed is a
//! branch for `mycode work`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::args::ExecArgs;
use super::task::{self, RunPlace};
use crate::cli::args::SharedArgs;
use crate::cli::each::task_dir::{self, FOLDER, Isolation, TaskDir};
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open::{self, SessionSelector};
use base::file;
use base::text::one_line;
use frontend::exec::output_schema::OutputSchema;
use guard::redact::detector;

/// The name of all of them together, as a batch has one.
const NAME: &str = "exec";

pub async fn run(
    cli: &SharedArgs,
    args: &ExecArgs,
    which: &SessionSelector,
    schema: Option<OutputSchema>,
    run_id: &str,
) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    Isolation::needs_git(&root, "--worktree needs a git repository")?;
    let folder = root.join(FOLDER).join(NAME);
    let id = match which {
        SessionSelector::Id(id) => earlier(&folder, id)?,
        _ => run_id.to_owned(),
    };
    task_dir::make(&root, &folder)?;
    let branch = format!("mycode/each/{NAME}/{id}");
    let opened = TaskDir::open(Isolation::Worktree, &root, &folder.join(&id), branch).await;
    let place = opened.or_task("there is no worktree for this task", "see what `git status` says")?;
    let mut inner = cli.clone();
    inner.model.folder = Some(place.folder.clone());
    let events = folder.join(format!("{id}.events.jsonl"));
    note(&events, &json!({"type": "session", "id": id, "workspace": place.folder}))?;
    let run = RunPlace { id: run_id, started_in: Some(&root), session: &id };
    let result = task::run(&inner, args, which, schema, run).await;
    let code = result.as_ref().map_or_else(|failure| failure.kind as u8, |code| *code);
    let subject =
        format!("mycode: {}", one_line(&detector::redact(args.prompt.as_deref().unwrap_or_default()), 60));
    let hint = format!("the files are in {}", place.folder.display());
    let committed = place.commit(&root, &subject, code == 0).await;
    let changed = committed.or_task("the changes can't be committed", hint)?;
    note(&events, &json!({"type": "turn_ended", "exit_code": code}))?;
    // An unfinished task whose files are unchanged begins anew when it is continued.
    if code == 0 || !changed {
        place.close(&root, changed).await;
    }
    if changed {
        report::note(&format!(
            "the changes are on mycode/each/{NAME}/{id}: `mycode work diff {id}` shows them, `mycode work merge {id}` merges them"
        ));
    } else if result.is_ok() {
        report::note("nothing was changed, so there is no branch");
    }
    result
}

/// The worktree of this session, by its id or the beginning of it.
fn earlier(folder: &Path, wanted: &str) -> Result<String, Failure> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids = names.filter_map(|name| Some(name.strip_suffix(".events.jsonl")?.to_owned()));
    ids.find(|id| id.starts_with(wanted)).ok_or_else(|| {
        let hint = "leave out --worktree to continue any other session";
        Failure::usage(format!("no task in a worktree has the session {wanted}"), hint)
    })
}

fn note(events: &Path, line: &Value) -> Result<(), Failure> {
    let mut file = file::open_private(OpenOptions::new().append(true).create(true), events)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}
