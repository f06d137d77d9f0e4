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
        let hint = "mycode policy check --permission auto -- 'cargo test && git status'";
        return Err(Failure::usage("there is no command to check", hint));
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
    let from = |key: &str| opened.loaded.origins.iter().find(|setting| setting.key == key);
    let level = engine.permission().into_str();
    let level = match from("permission") {
        Some(setting) => format!("{level}, set in {}", setting.place),
        None => format!("{level}, the default of exec"),
    };
    let rules = engine.rules();
    let by_rule = |call: &AssessedCall| rules.allowed_by(call);
    let explained = Explained { command: &command, found: &found, level, by_rule: &by_rule };
    if check.json {
        return report::print(&format!("{}\n", explained.as_json()));
    }
    report::print(&explained.for_people())
}

struct Explained<'a> {
    command: &'a AssessedCommand,
    found: &'a CommandVerdict,
    /// The permission level, and where it is set.
    level: String,
    by_rule: &'a dyn Fn(&AssessedCall) -> Option<String>,
}

impl Explained<'_> {
    /// Each part of the command, its verdict, and why.
    fn parts(&self) -> Vec<(&AssessedCall, &Verdict, String)> {
        let calls = self.command.calls.iter().flatten().zip(&self.found.calls);
        let why = |call: &AssessedCall, verdict: &Verdict| {
            let rule = (self.by_rule)(call).filter(|_| *verdict == Verdict::Allow);
            rule.map_or_else(
                || call.assessment.reason.clone(),
                |rule| format!("{}; {rule}", call.assessment.reason),
            )
        };
        calls.map(|(call, verdict)| (call, verdict, why(call, verdict))).collect()
    }

    fn reason(&self) -> String {
        match self.found.verdict.reason() {
            "" => format!("runs without asking (permission level {})", self.level),
            reason => format!("{reason} (permission level {})", self.level),
        }
    }

    fn as_json(&self) -> Value {
        let segments: Vec<Value> = self
            .parts()
            .into_iter()
            .map(|(call, verdict, reason)| {
                let argv: Vec<&str> = call.call.argv.iter().map(|arg| arg.text.as_str()).collect();
                let effects: Vec<String> =
                    call.assessment.effects.iter().map(|effect| effect.text()).collect();
                json!({
                    "command": call.shown(),
                    "argv": argv,
                    "effects": effects,
                    "verdict": verdict.as_str(),
                    "reason": reason,
                })
            })
            .collect();
        json!({
            "verdict": self.found.verdict.as_str(),
            "reason": self.reason(),
            "level": self.level,
            "segments": segments,
        })
    }

    fn for_people(&self) -> String {
        let mut out = format!("{}: {}\n", self.found.verdict.as_str(), sanitize::reveal(&self.reason()));
        for (call, verdict, why) in self.parts() {
            let shown = text::one_line(&sanitize::reveal(&call.shown()), 100);
            out.push_str(&format!("  {:5} {shown}\n        {}\n", verdict.as_str(), sanitize::reveal(&why)));
        }
        out
    }
}
