//! `mycode policy check`: the verdict over a command, with that of each program that it runs. Runs nothing.

use serde_json::{Value, json};

use crate::agent::calls::policy_engine::{PolicyEngine, SandboxSupport};
use crate::base::sanitize;
use crate::cli::args::{Cli, Confined, PolicyArgs, PolicyCommand};
use crate::cli::report::{self, Failure, FailureKind};
use crate::cli::setup::open;
use crate::config::settings::Permission;
use crate::policy::command::AssessedCommand;
use crate::policy::rules::Rules;
use crate::policy::verdict::CommandVerdict;

/// Prints the verdict.
///
/// # Errors
/// Settings or a folder that cannot be used.
pub fn run(cli: &Cli, args: &PolicyArgs) -> Result<(), Failure> {
    let PolicyCommand::Check(check) = &args.command;
    let opened = open::open(&cli.model, Permission::Auto)?;
    let text = check.words.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "there is no command to check",
            "mycode policy check --permission auto -- 'cargo test && git status'",
        ));
    }
    let spill = opened.project_state.join("tool-output");
    let rules = Rules::load(&opened.project_state);
    let own = opened.own_folders();
    let desk = PolicyEngine::new(&opened.loaded.work, rules, &opened.workspace, vec![spill], &own);
    let hold = match check.confined {
        Confined::Auto => None,
        Confined::Yes => Some(SandboxSupport::Sandbox),
        Confined::No => Some(SandboxSupport::Nothing),
    };
    let found = desk.check(&text, &opened.workspace, hold);
    if check.json {
        return report::print(&format!("{}\n", as_json(&found)));
    }
    report::print(&for_people(&found))
}

fn as_json(found: &CommandVerdict) -> Value {
    let segments: Vec<Value> = match &found.judged {
        AssessedCommand::Unparsed(_) => Vec::new(),
        AssessedCommand::Segments(segments) => segments
            .iter()
            .zip(&found.segments)
            .map(|(segment, verdict)| {
                let argv: Vec<&str> = segment.call.argv.iter().map(|arg| arg.text.as_str()).collect();
                let effects: Vec<String> =
                    segment.finding.effects.iter().map(|effect| effect.text()).collect();
                json!({
                    "command": segment.shown(),
                    "argv": argv,
                    "effects": effects,
                    "verdict": verdict.as_str(),
                    "reason": segment.finding.reason,
                })
            })
            .collect(),
    };
    json!({"verdict": found.verdict.as_str(), "reason": reason(found), "segments": segments})
}

fn reason(found: &CommandVerdict) -> String {
    match found.verdict.reason() {
        "" => "nothing in it needs a question at this level".to_owned(),
        reason => reason.to_owned(),
    }
}

fn for_people(found: &CommandVerdict) -> String {
    let mut out = format!("{}: {}\n", found.verdict.as_str(), sanitize::reveal(&reason(found)));
    if let AssessedCommand::Segments(segments) = &found.judged {
        for (segment, verdict) in segments.iter().zip(&found.segments) {
            let shown = crate::base::text::one_line(&sanitize::reveal(&segment.shown()), 100);
            let why = sanitize::reveal(&segment.finding.reason).into_owned();
            out.push_str(&format!("  {:5} {shown}\n        {why}\n", verdict.as_str()));
        }
    }
    out
}
