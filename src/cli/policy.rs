//! `mycode policy check`: the verdict over a command, with that of each program that it runs. Runs nothing.

use serde_json::{Value, json};

use super::args::{Cli, Confined, PolicyArgs, PolicyCommand};
use super::open;
use super::report::{self, Failure, Kind};
use crate::agent::policy_desk::{Hold, PolicyDesk};
use crate::base::sanitize;
use crate::config::settings::Permission;
use crate::policy::command::Judged;
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
            Kind::Usage,
            "there is no command to check",
            "mycode policy check --permission auto -- 'cargo test && git status'",
        ));
    }
    let spill = opened.project_state.join("tool-output");
    let rules = Rules::load(&opened.project_state);
    let own = opened.own_folders();
    let desk = PolicyDesk::new(&opened.loaded.work, rules, &opened.workspace, vec![spill], &own);
    let hold = match check.confined {
        Confined::Auto => None,
        Confined::Yes => Some(Hold::Sandbox),
        Confined::No => Some(Hold::Nothing),
    };
    let found = desk.check(&text, &opened.workspace, hold);
    if check.json {
        return report::print(&format!("{}\n", as_json(&found)));
    }
    report::print(&for_people(&found))
}

fn as_json(found: &CommandVerdict) -> Value {
    let segments: Vec<Value> = match &found.judged {
        Judged::Unparsed(_) => Vec::new(),
        Judged::Segments(segments) => segments
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
    if let Judged::Segments(segments) = &found.judged {
        for (segment, verdict) in segments.iter().zip(&found.segments) {
            let shown = crate::base::text::one_line(&sanitize::reveal(&segment.shown()), 100);
            let why = sanitize::reveal(&segment.finding.reason).into_owned();
            out.push_str(&format!("  {:5} {shown}\n        {why}\n", verdict.as_str()));
        }
    }
    out
}
