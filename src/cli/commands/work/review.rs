//! `mycode review`: a reader with a fresh window looks at a diff and reports findings with place and severity.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::build;
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::agent_setup;
use agent::build::git;
use agent::build::progress::Show;
use agent::build::roles::Roles;
use agent::qa::reviewer::{self, ChangeReviewer};
use base::model::usage::Usage;
use base::protocol::event::EndReason;
use base::protocol::exit_code::ExitCode;
use base::protocol::review::ReviewOutcome;
use frontend::exec::compat::codex;
use guard::redact::detector::TextSource;

const HELP: &str = include_str!("../../help/review.txt");

pub const SCHEMA: &str = include_str!("review.schema.json");

#[derive(Args, Clone, Debug, Default)]
#[command(after_help = HELP)]
pub struct ReviewArgs {
    /// Review everything since this branch left BASE
    pub base: Option<String>,

    /// Review what this commit changed
    #[arg(long, value_name = "COMMIT", conflicts_with = "base")]
    pub commit: Option<String>,

    /// What to look for, in words; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub focus: Option<String>,

    /// Also write the review to this file
    #[arg(short, long, value_name = "FILE", visible_alias = "output-last-message")]
    pub output: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// As Codex prints it, and exits with 0 after findings
    #[arg(long, hide = true, value_parser = ["text", "codex"])]
    pub format: Option<String>,
}

pub async fn run(cli: &SharedArgs, args: &ReviewArgs) -> Result<u8, Failure> {
    report::check_output(args.output.as_deref())?;
    let session = agent_setup::roles(cli).await?;
    let cancel = CancellationToken::new();
    let mut roles = Roles::new(session, Show::new(true, None));
    roles.session.agents.dispatcher.cx.cancel = cancel.clone();
    let reviewed = build::until_second_interrupt(review(&mut roles, args), &cancel).await;
    let Some(reviewed) = reviewed.filter(|_| !cancel.is_cancelled()) else {
        return Ok(ExitCode::Interrupted as u8);
    };
    let outcome = reviewed?;
    let code = u8::from(outcome.is_grave() && args.format.is_none());
    report::write_output(args.output.as_deref(), Some(&outcome.text()))?;
    if args.format.as_deref() == Some("codex") {
        let id = &roles.session.conversation.id;
        let lines = codex::turn(id, &outcome.text(), &outcome.usage).map(|line| format!("{line}\n"));
        report::print(&lines.concat())?;
    } else if args.json {
        let cost_usd = roles.session.conversation.usage.cost_usd();
        let object = json!({
            "verdict": if outcome.is_grave() { "fail" } else { "pass" }, "findings": outcome.findings, "checks": outcome.checks,
            "failed_checks": outcome.failed, "usage": outcome.usage, "cost_usd": cost_usd, "exit_code": code,
        });
        report::print(&format!("{object}\n"))?;
    } else {
        outcome.checks.iter().for_each(|check| eprintln!("· {check}"));
        report::say(&format!("{}\n", outcome.text()))?;
    }
    Ok(code)
}

async fn review(roles: &mut Roles, args: &ReviewArgs) -> Result<ReviewOutcome, Failure> {
    let root = Arc::clone(&roles.session.agents.dispatcher.cx.root);
    let state = &roles.session.setup.project_state;
    std::fs::create_dir_all(state)?;
    let index = state.join(format!("review-{}.index", std::process::id()));
    let base = args.base.as_deref().unwrap_or("HEAD");
    let diff = match &args.commit {
        Some(commit) => git::diff_of(&root, commit).await,
        None => git::diff_since(&root, base, &index).await,
    };
    let _ = std::fs::remove_file(&index);
    let diff =
        diff.or_usage("there is no diff to review", "name a branch or commit of this git repository")?;
    if diff.trim().is_empty() {
        eprintln!("Nothing changed, so there is nothing to review.");
        return Ok(ReviewOutcome::default());
    }
    roles.session.conversation.is_review = true;
    roles.begin("Review of the changes").or_task("the session can't be written", "check the disk space")?;
    let agents = &roles.session.agents;
    let cx = agents.dispatcher.cx.clone();
    let diff = cx.redactor.redact(&diff, TextSource::Text).into_owned();
    agents.runner.begin_session(&roles.session.conversation.id);
    let window_tokens = roles.session.setup.loaded.context.window_tokens;
    let reviewer = ChangeReviewer {
        dispatcher: &agents.dispatcher,
        agents: &*agents.runner,
        window_tokens,
        cx,
        at_most: None,
        questions: None,
    };
    let mut spent = Vec::new();
    let wanted = match args.focus.as_deref() {
        Some("-") => report::standard_input()?,
        focus => focus.unwrap_or(WANTED).to_owned(),
    };
    let files = by_file(&diff).into_iter().filter(|(name, _)| !reviewer.cx.denied.hides(&root.join(name)));
    let shown = reviewer::fitting(files);
    let reviewed = reviewer.review(("What to check", &wanted), ("Changes", &shown), &mut spent).await;
    let mut usage = Usage::default();
    for (model, used) in &spent {
        roles.session.conversation.add_side_usage(model, used)?;
        usage.add(used);
    }
    let said = reviewed.as_ref().map_or_else(Clone::clone, ReviewOutcome::text);
    let ended = roles.end(&said, EndReason::Done, 1);
    ended.or_task("the session can't be written", "check the disk space")?;
    match reviewed {
        Ok(outcome) => Ok(ReviewOutcome { usage, ..outcome }),
        Err(why) => Err(Failure::task(format!("no review: {why}"), "try again, or with another --model")),
    }
}

const WANTED: &str = "There is no specification: judge by what the change is evidently meant to do. Look for bugs, cases that it \
                      misses, callers and documents that it breaks, security, and tests that are missing for new behavior.";

fn by_file(diff: &str) -> Vec<(&str, String)> {
    let mut starts: Vec<usize> = diff.match_indices("diff --git ").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || diff.as_bytes()[at - 1] == b'\n');
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| named(&diff[*start..end])).collect()
}

fn named(part: &str) -> (&str, String) {
    let line = part.lines().next().unwrap_or_default();
    (line.rsplit(" b/").next().unwrap_or(line), format!("{}\n", part.trim_end()))
}
