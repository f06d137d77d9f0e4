//! The coding stage: runs the plan's subtasks one by one, or independent ones in parallel in worktrees.
//! A finished subtask is checked off in the plan, from which a build resumes.

use std::sync::Arc;

use super::plan::{self, Subtask};
use super::roles::{RoleStart, RoleTask, Stop};
use super::state::Build;
use super::{changes, git, prompts};
use crate::build::progress::BuildEvent;
use base::process::task;
use tools::cx::ToolCx;
use tools::file::wrote;
use tools::sub_agent::SubReport;

/// Limit of the context given to a subtask, in characters.
const CONTEXT_CHARS: usize = 6_000;
/// A subtask that changed no file and ran no check is tried once more.
const TRIES: u32 = 2;

pub async fn carry_out(build: &mut Build, spec: &str) -> Result<(), Stop> {
    loop {
        let text = build.folder.read("plan.md").unwrap_or_default();
        let subtasks = plan::subtasks(&text);
        let ready =
            plan::ready(&subtasks, |number| build.idle.get(&number).is_some_and(|tries| *tries >= TRIES));
        if ready.is_empty() {
            return Ok(());
        }
        let batch: Vec<Subtask> = ready.into_iter().take(build.options.parallel.max(1)).cloned().collect();
        match batch.as_slice() {
            // A subtask that began in a worktree continues there.
            [one] if build.folder.read(&begun_at(one)).is_none() => alone(build, spec, &text, one).await?,
            several => together(build, spec, &text, several).await?,
        }
    }
}

async fn alone(build: &mut Build, spec: &str, plan: &str, subtask: &Subtask) -> Result<(), Stop> {
    let part = part(build, spec, plan, subtask).await;
    let name = part.name.clone();
    let report = build.roles.work(part).await?;
    let did = report.checked || changes::made_by(build.cx(), &name).await;
    keep(build, subtask, &report.answer, did)?;
    build.commit(subtask.title()).await
}

/// Runs each subtask in its own worktree, then merges their commits into the project one by one.
async fn together(build: &mut Build, spec: &str, plan: &str, subtasks: &[Subtask]) -> Result<(), Stop> {
    let root = Arc::clone(&build.cx().root);
    let (mut parts, mut trees) = (Vec::new(), Vec::new());
    for subtask in subtasks {
        let place = format!("worktrees/{}", subtask.number);
        let begun_at = begun_at(subtask);
        if build.folder.read(&begun_at).is_none() {
            let head = git::head(&root).await?;
            build.folder.write(&begun_at, &head).map_err(|error| build.unwritable(&begun_at, error))?;
        }
        let branch = format!("mycode/{}/{}", build.id, subtask.number);
        let tree =
            git::Worktree::open(&root, &build.folder.root.join(build.folder.path(&place)), branch).await?;
        let agents = build.roles.session.setup.agents_in(&tree.path);
        parts.push(RoleTask { elsewhere: Some(agents), ..part(build, spec, plan, subtask).await });
        trees.push(tree);
    }
    let outcomes = build.roles.work_together(parts).await?;
    let mut failed = None;
    for ((subtask, tree), outcome) in subtasks.iter().zip(trees).zip(outcomes) {
        let merged = match outcome {
            Ok(report) => merge(build, subtask, tree, &report).await,
            Err(stop) => Err(stop),
        };
        if let Err(stop) = merged {
            failed.get_or_insert(stop);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Conflicts are resolved in the worktree, so that the project's own files never contain conflict marks.
async fn merge(
    build: &mut Build,
    subtask: &Subtask,
    tree: git::Worktree,
    report: &SubReport,
) -> Result<(), Stop> {
    let root = Arc::clone(&build.cx().root);
    tree.commit(subtask.title()).await?;
    let begun_at = begun_at(subtask);
    let base = build.folder.read(&begun_at).unwrap_or_default();
    if !report.checked && !tree.has_work(base.trim()).await {
        return keep(build, subtask, &report.answer, false);
    }
    let before = git::head(&tree.path).await?;
    let conflicts = tree.catch_up(&root).await?;
    if !conflicts.is_empty() {
        build.roles.show.say(&BuildEvent::Note {
            text: &format!("Subtask {} conflicts in {}", subtask.number, conflicts.join(", ")),
        });
        let name = format!("merge of subtask {}", subtask.number);
        let part = RoleTask::new(
            "qa_fixer",
            name,
            prompts::merge(&format!("{}. {}", subtask.number, subtask.text), &conflicts),
        );
        let agents = build.roles.session.setup.agents_in(&tree.path);
        let part = RoleTask { elsewhere: Some(agents), start: RoleStart::Fresh, ..part };
        let fixer = build.roles.work(part).await?;
        tree.conclude(&root, (&before, &conflicts), &fixer).await?;
    }
    let title = format!("git merge {}", tree.branch);
    changes::recorded(build.cx(), title, tree.deliver(&root)).await?;
    keep(build, subtask, &report.answer, true)?;
    tree.remove(&root).await;
    build.folder.write(&begun_at, "").map_err(|error| build.unwritable(&begun_at, error))
}

/// The file with the commit on which a subtask's worktree is based; blank once it is merged.
fn begun_at(subtask: &Subtask) -> String {
    format!("worktrees/{}.base", subtask.number)
}

async fn part(build: &Build, spec: &str, plan: &str, subtask: &Subtask) -> RoleTask {
    let context = task_context(build.cx(), &subtask.text).await;
    let before: Vec<(usize, String)> = plan::subtasks(plan)
        .into_iter()
        .filter(|other| other.done)
        .filter_map(|other| {
            Some((other.number, build.folder.read(&format!("subtasks/{}.md", other.number))?))
        })
        .collect();
    let mut name = format!("subtask {}", subtask.number);
    let doubts = misnamed(build.cx(), subtask.files()).await.join("\n");
    if !doubts.is_empty() {
        let text = format!("Subtask {}: {doubts}", subtask.number);
        build.roles.show.say(&BuildEvent::Note { text: &text });
    }
    let mut prompt = prompts::code(spec, plan, &context, (subtask, &doubts), &before);
    if build.idle.contains_key(&subtask.number) {
        name.push_str(", again");
        prompt.push_str(prompts::NOT_DONE);
    }
    RoleTask { about: subtask.title().to_owned(), ..RoleTask::new("coder", name, prompt) }
}

/// Paths in the plan that don't exist but resemble existing ones.
async fn misnamed(cx: &ToolCx, files: Vec<String>) -> Vec<String> {
    let cx = cx.clone();
    let look = move || {
        let meant = |file: &String| {
            let meant = wrote::probably_meant(&cx, file)?;
            Some(format!("The plan says {file}, which doesn't exist; it may mean {meant}."))
        };
        files.iter().filter_map(meant).collect()
    };
    task::blocking(look).await.unwrap_or_default()
}

/// Writes the answer before checking off the subtask: a kill only repeats it. Without a change or check it stays open.
fn keep(build: &mut Build, subtask: &Subtask, answer: &str, did: bool) -> Result<(), Stop> {
    if !did {
        *build.idle.entry(subtask.number).or_default() += 1;
        let text = format!("Subtask {} changed no file and ran no check, so it stays open.", subtask.number);
        build.roles.show.say(&BuildEvent::Note { text: &text });
        return Ok(());
    }
    build.idle.remove(&subtask.number);
    build.wrote(&format!("subtasks/{}.md", subtask.number), answer)?;
    let plan = build.folder.read("plan.md").unwrap_or_default();
    build.wrote("plan.md", &plan::ticked(&plan, subtask.number))
}

pub async fn task_context(cx: &ToolCx, text: &str) -> String {
    let Some(retriever) = cx.evidence.clone() else { return String::new() };
    let text = text.to_owned();
    let found = task::blocking(move || retriever.task_context(&text)).await.ok().flatten();
    found.map_or(String::new(), |context| context.serialize(CONTEXT_CHARS))
}
