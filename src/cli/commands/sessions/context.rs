//! `mycode context`: the ledger of a stored session, or the history of one item. Reads only the log, so it
//! also works while the session is open elsewhere.

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::protocol::ledger::{self, ItemHistory, LedgerView};
use base::text;
use context::replay::item_history;
use context::replay::session_replay::SessionReplay;
use context::session::reader;
use frontend::tui::popup::context as popup;

const HELP: &str = "\
How a request is built:

From the top: L1 the system prompt and the tool schemas (fewer tools in windows under 16k), L2 the project's rules, \
L3 the history, L4 your message, L6 the running turn and, inside it, L5: a one-line recap of the to-do list wherever \
it changed.

Requests only grow, because reasoning models and prompt caches need an unchanged past. They form epochs: within one, \
each request is the one before it plus new messages. Noise in a result is removed before the result is first sent.

Rewriting the past starts a new epoch. That happens at your next message, when the cache is cold, or when the window \
fills up, never in the middle of a turn just because it would be cheaper. The log keeps every result in full. \
Outdated copies leave the request first, then finished commands and searches by age, and the newest view of each \
file last. One note per turn replaces what left: what the agent said, the files it read and edited, what it ran \
and how that ended, and the files still in view. Only then do old rounds become a summary; your own words go last. \
Names in a summary that never occurred in the session are struck out. No request is ever larger than the window, \
from 8k up.

In the chat, /context shows the same list: p pins an item, d drops it to a one-line pointer, r restores it, Enter \
shows its history. /compact summarizes now, /uncompact undoes that, `/compact auto off` leaves it to you. /recall \
(and the model's Recall) brings back any original, byte for byte.";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ContextArgs {
    /// The session's id (or the beginning of it) or log file [default: the last session]
    pub session: Option<String>,

    /// Show the history of one item, by its id in the list (such as 12 or rules)
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
    let window = named.then(|| opened.loaded.context_for(&model, None));
    let settings = window.transpose()?.unwrap_or(opened.loaded.context);
    let ledger = replay.ledger(&settings);
    let out = if args.json { format!("{}\n", serde_json::json!(ledger)) } else { ledger_table(&ledger) };
    report::show(args.json, &out)
}

fn ledger_table(view: &LedgerView) -> String {
    let mut out = format!(
        "{} of {} tokens (±{:.0}%; window size from {})\n",
        view.total_tokens, view.window_tokens, view.error_percent, view.window_origin
    );
    for layer in ["L1", "L2", "L3", "L4", "L5", "L6"] {
        let tokens: u64 = view.rows.iter().filter(|row| row.layer == layer).map(|row| row.tokens).sum();
        let share = tokens as f64 * 100.0 / view.window_tokens.max(1) as f64;
        if tokens > 0 {
            out.push_str(&format!("{tokens:>8}  {layer}  {share:>5.1}% of the window\n"));
        }
    }
    out.push_str(&format!("current epoch: {} requests\n", view.epochs.requests));
    for sum in &view.epochs.by_cause {
        out.push_str(&format!(
            "epochs by {}: {}; {} tokens re-read, {} saved in each request, {} blocks of reasoning left out\n",
            sum.cause.into_str(),
            sum.count,
            sum.tokens_lost,
            sum.tokens_saved,
            sum.reasoning
        ));
    }
    if let Some(line) = ledger::agents_line(&view.agents) {
        out.push_str(&format!("{line}\n"));
    }
    for agent in &view.agents {
        out.push_str(&format!(
            "  {} {}: {} steps, {} tokens (`mycode context {}` shows its window)\n",
            agent.kind, agent.id, agent.steps, agent.tokens, agent.id
        ));
    }
    out.push('\n');
    let mut rows: Vec<_> = view.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    for row in rows {
        let pin = if row.pinned && row.id.starts_with('#') { " pinned" } else { "" };
        let origin = text::one_line(&row.origin, 80);
        out.push_str(&format!(
            "{:>8}  {}  {:<8} {:<10} {origin}{pin}\n",
            row.tokens, row.layer, row.id, row.form
        ));
    }
    out
}

fn item_table(item: &ItemHistory) -> String {
    let mut out = format!("{}\n", popup::history_heading(item));
    for (name, value) in popup::history_rows(item) {
        out.push_str(&format!("  {name}: {value}\n"));
    }
    out
}
