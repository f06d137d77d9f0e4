//! `mycode policy check`: the verdict for a command and each program in it. Runs nothing.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::{limits, open};
use agent::calls::policy_engine::{PolicyEngine, SandboxSupport};
use base::config::settings::Permission;
use base::{sanitize, text};
use guard::policy::command::AssessedCall;
use guard::policy::rules::Rules;
use guard::policy::verdict::Verdict;

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

    /// The command; several words are joined with spaces
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
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
        let hint = "mycode policy check --permission auto -- 'cargo test && git status'";
        return Err(Failure::usage("there is no command to check", hint));
    }
    let spill = opened.project_state.join("tool-output");
    let rules = Rules::new(limits::rules(&cli.model, &opened.loaded)?, &opened.project_state);
    let own = opened.own_folders();
    let engine = PolicyEngine::new(&opened.loaded.work, rules, &opened.workspace, vec![spill], &own);
    let support = match check.confined {
        Confined::Auto => None,
        Confined::Yes => Some(SandboxSupport::Sandbox),
        Confined::No => Some(SandboxSupport::Nothing),
    };
    let (command, found) = engine.check(&text, &opened.workspace, support);
    let from = |key: &str| opened.loaded.origins.iter().find(|setting| setting.key == key);
    let level = engine.permission().into_str();
    let level = match from("permission") {
        Some(setting) => format!("{level}, set by {}", setting.place),
        None => format!("{level}, the default of exec"),
    };
    let verdict = found.verdict.as_str();
    let reason = match found.verdict.reason() {
        "" => format!("runs without asking (permission level {level})"),
        reason => format!("{reason} (permission level {level})"),
    };
    let parts = command.calls.iter().flatten().zip(&found.calls).map(|(call, verdict)| {
        let rule = engine.rules().allowed_by(call).filter(|_| *verdict == Verdict::Allow);
        let reason = &call.assessment.reason;
        (call, verdict.as_str(), rule.map_or(reason.clone(), |rule| format!("{reason}; {rule}")))
    });
    if check.json {
        let segment = |(call, verdict, reason): (&AssessedCall, _, String)| {
            let argv: Vec<&str> = call.call.argv.iter().map(|arg| arg.text.as_str()).collect();
            let effects: Vec<String> = call.assessment.effects.iter().map(|effect| effect.text()).collect();
            json!({"command": call.shown(), "argv": argv, "effects": effects, "verdict": verdict, "reason": reason})
        };
        let segments: Vec<Value> = parts.map(segment).collect();
        let explained = json!({"verdict": verdict, "reason": reason, "level": level, "segments": segments});
        return report::print(&format!("{explained}\n"));
    }
    let mut out = format!("{verdict}: {}\n", sanitize::reveal(&reason));
    for (call, verdict, why) in parts {
        let shown = text::one_line(&sanitize::reveal(&call.shown()), 100);
        out.push_str(&format!("  {verdict:5} {shown}\n        {}\n", sanitize::reveal(&why)));
    }
    report::print(&out)
}
