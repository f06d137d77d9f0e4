//! `mycode policy check`: the verdict for a command and each program in it. Runs nothing.

use serde_json::{Value, json};

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::{limits, open};
use agent::calls::policy_engine::{PolicyEngine, SandboxSupport};
use base::config::settings::Permission;
use base::sanitize;
use base::text;
use guard::policy::command::{AssessedCall, AssessedCommand};
use guard::policy::rules::Rules;
use guard::policy::verdict::{CommandVerdict, Verdict};

#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print the verdict for a command: allow, ask or deny
    Check(CheckArgs),
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Assume that the command runs in a sandbox; auto: as on this machine
    #[arg(long, value_name = "AUTO|YES|NO", default_value = "auto")]
    pub confined: Confined,

    /// The command, after `--`; several words are joined with spaces
    #[arg(last = true, required = true)]
    pub words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Confined {
    Auto,
    Yes,
    No,
}

pub fn run(cli: &SharedArgs, args: &PolicyArgs) -> Result<(), Failure> {
    let PolicyCommand::Check(check) = &args.command;
    let opened = open::open(&cli.model, Permission::Auto)?;
    let text = check.words.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "there is no command to check",
            "mycode policy check --permission auto -- 'cargo test && git status'",
        ));
    }
    let spill = opened.project_state.join("tool-output");
    let mut rules = Rules::load(&opened.project_state);
    rules.apply(limits::rules(&cli.model, &opened.loaded)?);
    let own = opened.own_folders();
    let engine = PolicyEngine::new(&opened.loaded.work, rules, &opened.workspace, vec![spill], &own);
    let support = match check.confined {
        Confined::Auto => None,
        Confined::Yes => Some(SandboxSupport::Sandbox),
        Confined::No => Some(SandboxSupport::Nothing),
    };
    let (command, found) = engine.check(&text, &opened.workspace, support);
    if check.json {
        return report::print(&format!("{}\n", as_json(&command, &found)));
    }
    report::print(&for_people(&command, &found))
}

fn as_json(command: &AssessedCommand, found: &CommandVerdict) -> Value {
    let segments: Vec<Value> = calls(command, found)
        .map(|(call, verdict)| {
            let argv: Vec<&str> = call.call.argv.iter().map(|arg| arg.text.as_str()).collect();
            let effects: Vec<String> = call.assessment.effects.iter().map(|effect| effect.text()).collect();
            json!({
                "command": call.shown(),
                "argv": argv,
                "effects": effects,
                "verdict": verdict.as_str(),
                "reason": call.assessment.reason,
            })
        })
        .collect();
    json!({"verdict": found.verdict.as_str(), "reason": reason(found), "segments": segments})
}

fn calls<'a>(
    command: &'a AssessedCommand,
    found: &'a CommandVerdict,
) -> impl Iterator<Item = (&'a AssessedCall, &'a Verdict)> {
    command.calls.iter().flatten().zip(&found.calls)
}

fn reason(found: &CommandVerdict) -> String {
    match found.verdict.reason() {
        "" => "runs at this permission level without asking".to_owned(),
        reason => reason.to_owned(),
    }
}

fn for_people(command: &AssessedCommand, found: &CommandVerdict) -> String {
    let mut out = format!("{}: {}\n", found.verdict.as_str(), sanitize::reveal(&reason(found)));
    for (call, verdict) in calls(command, found) {
        let shown = text::one_line(&sanitize::reveal(&call.shown()), 100);
        let why = sanitize::reveal(&call.assessment.reason);
        out.push_str(&format!("  {:5} {shown}\n        {why}\n", verdict.as_str()));
    }
    out
}
