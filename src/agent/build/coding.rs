//! The coding stage: runs the plan's subtasks one by one, or independent ones in parallel, each in a
//! worktree. A finished subtask is checked off in the plan; after a resume, the plan is what counts.

use std::sync::Arc;

use super::git;
use super::plan::{self, Subtask};
use super::prompts;
use super::roles::{RoleTask, Stop};
use super::state::Build;
use crate::build::progress::BuildEvent;
use tools::cx::ToolCx;

/// Limit of the context given to a subtask, in characters.
const CONTEXT_CHARS: usize = 6_000;

pub async fn carry_out(build: &mut Build, spec: &str) -> Result<(), Stop> {
    loop {
        let text = build.folder.read("plan.md").unwrap_or_default();
        let subtasks = plan::subtasks(&text);
        let ready = plan::ready(&subtasks);
        if ready.is_empty() {
            return Ok(());
        }
        let batch: Vec<Subtask> = ready.into_iter().take(build.options.parallel.max(1)).cloned().collect();
        match batch.as_slice() {
            [one] => alone(build, spec, &text, one).await?,
            several => together(build, spec, &text, several).await?,
        }
    }
}

async fn alone(build: &mut Build, spec: &str, plan: &str, subtask: &Subtask) -> Result<(), Stop> {
    let prompt = prompt(build, spec, plan, subtask).await;
    let report = build.roles.work(part(subtask, prompt)).await?;
    keep(build, subtask, &report.answer)?;
    build.commit(subtask.title()).await
}

/// Runs each subtask in its own worktree, then merges their commits into the project one by one.
async fn together(build: &mut Build, spec: &str, plan: &str, subtasks: &[Subtask]) -> Result<(), Stop> {
    let root = Arc::clone(&build.roles.session.agents.dispatcher.cx.root);
    let mut parts = Vec::new();
    let mut trees = Vec::new();
    for subtask in subtasks {
        let place = root.join(build.folder.path("worktrees"));
        let place = place.join(subtask.number.to_string());
        let tree =
            git::Worktree::open(&root, &place, format!("mycode/{}/{}", build.id, subtask.number)).await?;
        let agents = build.roles.session.setup.agents_in(&tree.path);
        let prompt = prompt(build, spec, plan, subtask).await;
        parts.push(RoleTask { elsewhere: Some(agents), ..part(subtask, prompt) });
        trees.push(tree);
    }
    let outcomes = build.roles.work_together(parts).await?;
    let mut failed = None;
    for ((subtask, tree), outcome) in subtasks.iter().zip(trees).zip(outcomes) {
        let report = match outcome {
            Ok(report) => report,
            Err(stop) => {
                failed.get_or_insert(stop);
                continue;
            }
        };
        git::commit(&tree.path, subtask.title()).await?;
        let conflicts = tree.merge(&root).await?;
        if !conflicts.is_empty() {
            build.roles.show.say(&BuildEvent::Note {
                text: &format!("Subtask {} conflicts in {}", subtask.number, conflicts.join(", ")),
            });
            let part = RoleTask::new(
                "qa_fixer",
                format!("merge of subtask {}", subtask.number),
                prompts::merge(subtask, &conflicts),
            );
            build.roles.work(part).await?;
            git::conclude_merge(&root, &conflicts).await?;
        }
        keep(build, subtask, &report.answer)?;
        tree.remove(&root).await;
    }
    failed.map_or(Ok(()), Err)
}

fn part(subtask: &Subtask, prompt: String) -> RoleTask {
    let about = subtask.title().to_owned();
    RoleTask { about, ..RoleTask::new("coder", format!("subtask {}", subtask.number), prompt) }
}

/// Writes the answer before checking off the subtask: a kill in between only repeats the answer.
fn keep(build: &Build, subtask: &Subtask, answer: &str) -> Result<(), Stop> {
    build.wrote(&format!("subtasks/{}.md", subtask.number), answer)?;
    let plan = build.folder.read("plan.md").unwrap_or_default();
    build.wrote("plan.md", &plan::ticked(&plan, subtask.number))
}

async fn prompt(build: &Build, spec: &str, plan: &str, subtask: &Subtask) -> String {
    let context = task_context(&build.roles.session.agents.dispatcher.cx, &subtask.text).await;
    let before: Vec<(usize, String)> = plan::subtasks(plan)
        .into_iter()
        .filter(|other| other.done)
        .filter_map(|other| {
            Some((other.number, build.folder.read(&format!("subtasks/{}.md", other.number))?))
        })
        .collect();
    prompts::code(spec, plan, &context, subtask, &before)
}

pub async fn task_context(cx: &ToolCx, text: &str) -> String {
    let Some(retriever) = cx.evidence.clone() else { return String::new() };
    let text = text.to_owned();
    let found = tokio::task::spawn_blocking(move || retriever.task_context(&text)).await.ok().flatten();
    found.map_or(String::new(), |context| context.serialize(CONTEXT_CHARS))
}
