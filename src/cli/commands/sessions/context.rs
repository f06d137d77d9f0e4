//! `mycode context`: the ledger of a stored session, or the history of one item. Reads only the log, so it
//! also works while the session is open elsewhere.

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::{Origin, Permission};
use base::protocol::ledger::ItemHistory;
use context::replay::item_history;
use context::replay::session_replay::SessionReplay;
use context::session::reader;
use context::session::record::Record;
use frontend::tui::popup::context as popup;

const HELP: &str = include_str!("../../help/context.txt");

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ContextArgs {
    /// The session's id (or a prefix of it) or log file [default: the last session]
    pub session: Option<String>,

    /// Show the history of one item, by its id in the list (such as 12)
    #[arg(long, value_name = "ID")]
    pub why: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub fn run(cli: &SharedArgs, args: &ContextArgs) -> Result<(), Failure> {
    let log = open::log_of(cli.model.folder.as_deref(), args.session.as_deref())?;
    let read = reader::read(&log)?;
    if let Some(wanted) = &args.why {
        let item = item_history::explain(&read.records, wanted)
            .map_err(|refusal| Failure::usage(refusal, "`mycode context` lists the ids"))?;
        let out = if args.json { format!("{}\n", serde_json::json!(item)) } else { item_table(&item) };
        return report::show(args.json, &out);
    }
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let replay = SessionReplay::of(&read.records);
    let model = replay.prefix.parts().params.model.to_string();
    let named = cli.model.context_window.is_none() && !model.is_empty();
    let ran_with = read.records.iter().rev().find_map(|record| match record {
        Record::Request(request) => Some((request.window?, Origin::Session)),
        _ => None,
    });
    let window = named.then(|| opened.loaded.context_for(&model, ran_with));
    let settings = window.transpose()?.unwrap_or(opened.loaded.context);
    let ledger = replay.counted_ledger(&settings);
    let out = if args.json { format!("{}\n", serde_json::json!(ledger)) } else { popup::text(ledger) };
    report::show(args.json, &out)
}

fn item_table(item: &ItemHistory) -> String {
    let mut out = format!("{}\n", popup::history_heading(item));
    for (name, value) in popup::history_rows(item) {
        out.push_str(&format!("  {name}: {value}\n"));
    }
    out
}
