//! The stages of a build in order. Each writes a file; a stage whose file exists is skipped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::progress::{BuildEvent, Show};
use super::roles::{RoleTask, Roles, Stop};
use super::state::{self, Build, BuildFolder, BuildOptions};
use super::{changes, checks, coding, plan, prompts, review};
use crate::assemble::RoleSession;
use crate::qa::checks::{CheckOutcome, CheckResult};
use base::model::item::{Item, UserMessage};
use base::text::{human_tokens, one_line, plural};
use guard::redact::detector;

/// Runs or resumes a build; `task` is `None` for a resume. Returns the report and the exit code.
pub async fn run(
    session: RoleSession,
    task: Option<&str>,
    options: BuildOptions,
    show: Show,
) -> (String, u8) {
    let begun = Instant::now();
    let id = session.conversation.id.clone();
    let root = options.kept_in.as_deref().unwrap_or(&session.agents.dispatcher.cx.root);
    let folder = match BuildFolder::open(root, &id) {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("The build's folder can't be created: {error}");
            show.say(&BuildEvent::BuildEnded {
                outcome: "failed",
                report: None,
                message: Some(&message),
                exit_code: 1,
            });
            return (String::new(), 1);
        }
    };
    show.say(&BuildEvent::Begun { id: &id, folder: &folder.name });
    let options = options.kept(&folder);
    let mut build =
        Build { id, folder, roles: Roles::new(session, show), options, idle: BTreeMap::new(), checks: None };
    let ((outcome, exit_code), message) = match stages(&mut build, task).await {
        Ok(None) => (state::PASSED, passed(&build)),
        Ok(Some(why)) => (state::FAILED, build.how_to_go_on(&format!("Not passed: {why}."))),
        Err(Stop::NothingChanged) => (
            state::NOTHING_CHANGED,
            format!(
                "Nothing changed: no role changed a file of the project, so there is nothing to review. \
                 Uncheck a subtask in {} to have it done again by `mycode build --resume {}`.",
                build.folder.path("plan.md"),
                build.id
            ),
        ),
        Err(Stop::Paused(stage)) => {
            let file = build.folder.path(if stage == "code" { "plan.md" } else { stage_file(stage) });
            (state::PAUSED, build.how_to_go_on(&format!("Paused after {stage}. Edit {file} as you like.")))
        }
        Err(Stop::Failed { message, hint }) => {
            (state::FAILED, build.how_to_go_on(&format!("{message}. To do: {hint}.")))
        }
        Err(Stop::Role { part, end }) => build.unfinished(&part, &end),
    };
    let text = report(&build, outcome, &message, begun.elapsed());
    if let Err(Stop::Failed { message, .. }) = build.wrote("report.md", &text) {
        build.roles.show.say(&BuildEvent::Note { text: &message });
    }
    let file = build.folder.path("report.md");
    build.roles.show.say(&BuildEvent::BuildEnded {
        outcome,
        report: Some(&file),
        message: Some(&message),
        exit_code,
    });
    (text, exit_code)
}

fn passed(build: &Build) -> String {
    let checks = build.checks.as_deref().unwrap_or_default();
    let ran = |check: &&CheckResult| check.outcome == CheckOutcome::Passed;
    match checks.iter().filter(ran).map(|check| format!("`{}`", check.command)).collect::<Vec<_>>().as_slice()
    {
        [] if checks.is_empty() => "The review passed. No check found in this project.".to_owned(),
        [] => "The review passed. None of the project's checks ran a test.".to_owned(),
        ran => format!("The review and the project's checks passed: {}.", ran.join(", ")),
    }
}

fn stage_file(stage: &str) -> &'static str {
    match stage {
        "spec" => "spec.md",
        "plan" => "plan.md",
        _ => "review.md",
    }
}

/// Returns why the review did not pass.
async fn stages(build: &mut Build, task: Option<&str>) -> Result<Option<String>, Stop> {
    if build.options.commit {
        let others = changes::by_others(build.cx()).await?;
        let names: Vec<String> = others.iter().take(3).map(|path| path.display().to_string()).collect();
        if !names.is_empty() {
            return Err(Stop::failed(
                format!(
                    "There are uncommitted changes ({}), which the build's commits would include",
                    names.join(", ")
                ),
                "commit or stash them, or leave out --commit and --parallel",
            ));
        }
    }
    let task = find_task(build, task)?;
    let spec = match build.folder.read("spec.md") {
        Some(spec) => spec,
        None => specify(build, &task).await?,
    };
    if build.folder.read("plan.md").is_none() {
        plan(build, wanted(&spec, &task)).await?;
    }
    if plan::subtasks(&build.folder.read("plan.md").unwrap_or_default()).is_empty() {
        return Err(Stop::failed(
            "The plan has no subtasks",
            "give plan.md lines of the form `- [ ] 1. what to do`, then run the build again with --resume",
        ));
    }
    checks::before(build).await?;
    coding::carry_out(build, &spec).await?;
    if changes::all(build.cx()).is_empty() {
        return Err(Stop::NothingChanged);
    }
    if let Some(number) = build.idle.keys().next() {
        return Err(Stop::failed(
            format!("Subtask {number} changed no file and ran no check, even when asked again"),
            format!(
                "do it by hand and check it off in {0}, or delete it there",
                build.folder.path("plan.md")
            ),
        ));
    }
    build.pause_after("code")?;
    let why_not = review::review(build, wanted(&spec, &task)).await?;
    build.pause_after("review")?;
    Ok(why_not)
}

fn find_task(build: &mut Build, task: Option<&str>) -> Result<String, Stop> {
    let known = build.folder.read("task.md");
    let task = known.clone().unwrap_or_else(|| task.unwrap_or_default().trim().to_owned());
    if task.is_empty() {
        return Err(Stop::failed("This build has no task", "write it into task.md in the build's folder"));
    }
    // Written first, so that a kill doesn't lose it.
    if known.is_none() {
        build.folder.write("task.md", &task).map_err(|error| build.unwritable("task.md", error))?;
    }
    let shown = build.cx().redactor.redact_typed(&task).into_owned();
    let conversation = &mut build.roles.session.conversation;
    if conversation.state.history.entries().is_empty() {
        conversation.record(Item::User(UserMessage::new(&shown)))?;
        conversation.record(Item::assistant(format!("Building in {}.", build.folder.name)))?;
    }
    Ok(task)
}

async fn specify(build: &mut Build, task: &str) -> Result<String, Stop> {
    let part = RoleTask::new("spec_writer", "specification", prompts::spec(task));
    let mut spec = build.roles.work(part).await?.answer;
    // A promise or a question; the title says that it is the specification.
    if !spec.lines().any(|line| line.starts_with('#')) {
        let again = prompts::spec(task) + prompts::SPEC_AGAIN;
        spec = build.roles.work(RoleTask::new("spec_writer", "specification, again", again)).await?.answer;
    }
    build.wrote("spec.md", &spec)?;
    build.pause_after("spec")?;
    Ok(spec)
}

/// The specification may have lost something, so the user's own words stand beside it.
fn wanted<'a>(spec: &'a str, task: &'a str) -> [(&'static str, &'a str); 2] {
    [("Specification", spec), ("The user's task, word for word", task)]
}

async fn plan(build: &mut Build, wanted: [(&str, &str); 2]) -> Result<(), Stop> {
    let files = coding::task_context(build.cx(), wanted[0].1).await;
    let prompt = prompts::plan(wanted, &files);
    let mut plan = build.roles.work(RoleTask::new("planner", "plan", prompt.clone())).await?.answer;
    if plan::subtasks(&plan).is_empty() {
        let again = format!("{prompt}\n\n{}", prompts::PLAN_AGAIN);
        plan = build.roles.work(RoleTask::new("planner", "plan, again", again)).await?.answer;
    }
    build.wrote("plan.md", &plan)?;
    build.pause_after("plan")
}

fn report(build: &Build, outcome: &str, message: &str, took: Duration) -> String {
    let task = build.folder.read("task.md").unwrap_or_default();
    let mut out = format!("# Build {}: {}\n\n{message}\n\n", build.id, outcome.replace('_', " "));
    out.push_str(&format!("**Task:** {}\n", one_line(&detector::redact(&task), 400)));
    let subtasks = plan::subtasks(&build.folder.read("plan.md").unwrap_or_default());
    if !subtasks.is_empty() {
        let done = subtasks.iter().filter(|subtask| subtask.done).count();
        out.push_str(&format!("\n## Subtasks: {done} of {} done\n", subtasks.len()));
    }
    for subtask in &subtasks {
        let mark = if subtask.done { 'x' } else { ' ' };
        out.push_str(&format!("- [{mark}] {}. {}\n", subtask.number, one_line(&subtask.text, 200)));
    }
    if let Some(checks) = &build.checks {
        out.push_str("\n## Checks\n");
        checks.iter().for_each(|check| out.push_str(&format!("- {}\n", check.line())));
        if checks.is_empty() {
            out.push_str("No check found in this project.\n");
        }
    }
    if let Some((file, review)) = review::last(build) {
        out.push_str(&format!("\n## Review ({})\n{}\n", build.folder.path(&file), review.trim()));
    }
    let changed = changes::all(build.cx());
    if !changed.is_empty() {
        out.push_str(&format!("\n## {} changed\n", plural(changed.len(), "file")));
        changed.keys().for_each(|path| out.push_str(&format!("- {path}\n")));
    }
    let usage = &build.roles.session.conversation.usage;
    let cost = usage.cost_usd().map_or(String::new(), |cost| format!(", ${cost:.2}"));
    let spent = match usage.total.total() {
        0 => String::new(),
        all => {
            format!(
                "{} tokens ({} of them cached){cost}. ",
                human_tokens(all),
                human_tokens(usage.total.cached)
            )
        }
    };
    out.push_str(&format!(
        "\n{spent}This run took {} s. `mycode rewind {}` undoes a subtask.\n",
        took.as_secs(),
        build.id
    ));
    out
}
