//! `mycode maintain`: the four phases, headless; each is a turn of one session. With `--json` it prints the
//! lines of `mycode exec` for each phase, between an `open_notes` and a `maintain_ended` line.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::args::{PHASES, SharedArgs, choice};
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::{self, OpenedProject, SessionSelector};
use agent::assemble;
use agent::maintainer::{self, Baseline};
use agent::session::reopen;
use base::config::settings::Permission;
use base::protocol::event::EndReason;
use base::protocol::maintain::{self, Maintain, MaintainPhase, MaintainReport};
use base::protocol::notice;
use context::session::effective;
use context::session::journal::recorder::Journal;
use frontend::exec::run::{self, ExecStart, OutputForm};

#[derive(Args, Debug)]
pub struct MaintainArgs {
    /// What to look after [default: the project as a whole]
    pub task: Option<String>,

    /// Run this phase only: explore, analyze, plan or do
    #[arg(long, value_name = "PHASE", hide_possible_values = true, value_parser = choice::<MaintainPhase>(PHASES))]
    pub phase: Option<MaintainPhase>,

    /// Print one JSON event per line
    #[arg(long)]
    pub json: bool,
}

const LAST_WRITES: Duration = Duration::from_secs(10);

/// Returns the worst exit code of the phases.
pub async fn run(cli: &SharedArgs, args: &MaintainArgs) -> Result<u8, Failure> {
    let opened = open::open(&cli.model, Permission::Auto)?;
    let task = args.task.as_deref().unwrap_or_default();
    let (mut which, work) = match cli.continue_last {
        true => (SessionSelector::Last, left_of_last(&opened, args)?),
        false => {
            let phases = args.phase.map_or(MaintainPhase::ALL.to_vec(), |phase| vec![phase]);
            (SessionSelector::New, Maintain::new(task, phases))
        }
    };
    let journal = Journal::new(&opened.project_state, &opened.workspace);
    let mut baseline = Baseline::take(&journal);
    let open = maintainer::open_notes(&journal);
    if args.json {
        report::print(&format!("{}\n", json!({"type": "open_notes", "notes": open})))?;
    } else {
        report::say(&format!("{}\n", notice::open_notes(&open)))?;
    }
    let (mut done, mut code, mut tokens, mut facts) = (Vec::new(), 0, 0, Vec::new());
    let mut answers = String::new();
    for phase in work.phases.iter().copied() {
        let setup = agent_setup::setup(cli, false, &which).await?;
        let first = done.is_empty();
        let handle = assemble::start(setup)?;
        if first && cli.continue_last {
            journal.open(&handle.session);
            baseline = Baseline::take(&journal);
        }
        which = SessionSelector::Id(handle.session.clone());
        if !args.json {
            report::print(&format!("\n› {}\n\n", phase.into_str()))?;
        }
        let start = ExecStart::Prompt(work.command(phase), Vec::new());
        let form = OutputForm::detect(args.json);
        let outcome = run::run(handle.ops, handle.events, start, form, None).await;
        // Wait for its last writes, before the next phase opens the session.
        let _ = tokio::time::timeout(LAST_WRITES, handle.task).await;
        report::written(outcome.lost.as_deref())?;
        code = code.max(outcome.exit_code);
        tokens += outcome.end.usage.total();
        let fact = |fact: &String| format!("{}: {}", phase.into_str(), fact.replace('_', " "));
        facts.extend(outcome.end.facts.iter().map(fact));
        if outcome.end.reason != EndReason::Done {
            break;
        }
        done.push(phase);
        answers.push_str(&phase.section(&outcome.answer.unwrap_or_default()));
    }
    let mut found = MaintainReport { tokens, ..MaintainReport::default() };
    let mut file = String::new();
    if let SessionSelector::Id(session) = &which {
        journal.open(session);
        let path = open::session(&opened.project_state, &which).ok().flatten();
        let reopened =
            path.and_then(|path| reopen::restore(&opened.project_state, &opened.workspace, &path).ok());
        let cost_usd = reopened.and_then(|reopened| reopened.conversation.usage.cost_usd());
        found = MaintainReport { tokens, cost_usd, facts, ..baseline.report(&journal, done) };
        let hint = "check the disk space and the permissions of the folder";
        let kept = maintain::keep(&opened.workspace, session, &work.task, &found.text(), &answers);
        file = kept.or_task("the report can't be written", hint)?;
    }
    let is_whole = found.phases.len() == work.phases.len();
    if args.json {
        let mut line = json!(found);
        line["type"] = json!("maintain_ended");
        line["exit_code"] = json!(code);
        line["report"] = json!(file);
        report::print(&format!("{line}\n"))?;
    } else {
        let more =
            if is_whole { "" } else { "`mycode maintain -c` continues with the phase that was cut off.\n" };
        report::say(&format!("\n{}\nThe report is in {file}.\n{more}", found.text()))?;
    }
    Ok(code)
}

/// The phases that the last session left, starting with the interrupted or first undone one.
fn left_of_last(opened: &OpenedProject, args: &MaintainArgs) -> Result<Maintain, Failure> {
    let hint = "start one with `mycode maintain \"task\"`";
    let none = || Failure::usage("the last session isn't a maintenance session", hint);
    let path = open::session(&opened.project_state, &SessionSelector::Last)?.ok_or_else(none)?;
    let (task, left) = effective::maintenance_left(&path)?.ok_or_else(none)?;
    let left = args.phase.map_or(left, |phase| vec![phase]);
    if left.is_empty() {
        let hint = "start a new one with `mycode maintain \"task\"`, or name a phase with --phase";
        return Err(Failure::usage("the last maintenance run is finished", hint));
    }
    Ok(Maintain::new(args.task.as_deref().unwrap_or(&task), left))
}
