//! `mycode context`: the ledger of a stored session, printed.

use std::sync::Arc;

use super::args::{Cli, ContextArgs};
use super::open::{self, Which};
use super::report::{self, Failure};
use crate::agent::build::{self, Setup};
use crate::base::text;
use crate::config::settings::Permission;
use crate::protocol::event::LedgerView;
use crate::provider::absent::Absent;

/// Prints the ledger, largest items first.
///
/// # Errors
/// When there is no such session, or another process has it open.
pub fn run(cli: &Cli, args: &ContextArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    let which = args.session.clone().map_or(Which::Last, Which::Id);
    let resume = open::session(&opened.project_state, &which)?;
    let model = opened.loaded.provider.as_ref().map_or_else(|| Arc::from("none"), |s| Arc::clone(&s.model));
    let ledger = build::ledger(Setup {
        loaded: opened.loaded,
        // Nothing is sent: the model is only needed for its window.
        provider: Arc::new(Absent),
        model,
        workspace: opened.workspace,
        project_state: opened.project_state,
        own_folders: Vec::new(),
        interactive: false,
        resume,
    })?;
    let out = if args.json { format!("{}\n", serde_json::json!(ledger)) } else { table(&ledger) };
    report::print(&out)
}

fn table(ledger: &LedgerView) -> String {
    let mut out = format!(
        "{} of {} tokens (window from {})\n",
        ledger.total_tokens, ledger.window_tokens, ledger.window_origin
    );
    let mut rows: Vec<_> = ledger.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    for row in rows {
        let pin = if row.pinned { " pinned" } else { "" };
        let origin = text::one_line(&row.origin, 80);
        out.push_str(&format!(
            "{:>8}  {}  {:<8} {:<10} {origin}{pin}\n",
            row.tokens, row.layer, row.id, row.form
        ));
    }
    out
}
