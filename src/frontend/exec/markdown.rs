//! What answers a command such as `/cost`, for programs and editors.

use base::protocol::event::Event;
use base::protocol::ledger::{LedgerRow, LedgerView};
use base::text::human_tokens;

pub fn markdown(event: &Event) -> Option<String> {
    match event {
        Event::Ledger(view) => Some(ledger(view)),
        Event::Status(rows) | Event::Cost(rows) => {
            Some(rows.iter().map(|(name, value)| format!("- {name}: {value}\n")).collect())
        }
        _ => None,
    }
}

fn ledger(view: &LedgerView) -> String {
    let (total, window) = (human_tokens(view.total_tokens), human_tokens(view.window_tokens));
    let mut text = format!(
        "{total} of {window} tokens\n\n| id | layer | tokens | form | origin |\n|---|---|---|---|---|\n"
    );
    for row in &view.rows {
        let LedgerRow { id, layer, tokens, form, .. } = row;
        let origin = row.origin.replace('|', "\\|");
        text.push_str(&format!("| {id} | {layer} | {tokens} | {form} | {origin} |\n"));
    }
    text
}
