//! `mycode sessions`: the project's stored sessions, newest first.

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::{clock, text};
use context::session::{list, outcomes};
use evidence::terms::translate;

const FOUND: usize = 20;

#[derive(Args, Debug)]
pub struct SessionsArgs {
    /// Only sessions whose changes match these words
    pub query: Vec<String>,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub fn run(cli: &SharedArgs, args: &SessionsArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Ask)?;
    if !args.query.is_empty() {
        let concepts = translate::concepts(&args.query.join(" "));
        let found = outcomes::find(&opened.project_state, "", &concepts, false, FOUND);
        let lines: Vec<String> = found
            .iter()
            .map(|outcome| match args.json {
                true => serde_json::to_string(outcome).unwrap_or_default(),
                false => outcome.line(),
            })
            .collect();
        let none = "No earlier turn matches.\n".to_owned();
        let out = if lines.is_empty() && !args.json { none } else { lines.join("\n") + "\n" };
        return report::show(args.json, &out);
    }
    let mut out = String::new();
    for row in list::list(&opened.project_state) {
        if args.json {
            out.push_str(&format!("{}\n", serde_json::json!(row)));
        } else {
            let (when, turns) = (clock::local_minute(row.updated_ms), text::plural(row.turns, "turn"));
            out.push_str(&format!("{}  {when}  {turns:>8}  {}\n", row.id, row.title));
        }
    }
    if out.is_empty() && !args.json {
        out.push_str("No sessions in this project yet. Start one with `mycode`.\n");
    }
    report::show(args.json, &out)
}
