//! Results of slash commands as Markdown.

use base::protocol::ledger::{LedgerRow, LedgerView};
use base::protocol::review::Changes;
use base::text::{human_tokens, plural};

pub fn rows(rows: &[(String, String)], none: &str) -> String {
    let rows = rows.iter().map(|(name, value)| format!("- {name}: {value}\n"));
    or_else(rows.collect(), none)
}

fn or_else(text: String, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text }
}

pub fn ledger(view: &LedgerView) -> String {
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

pub fn changes(changes: &Changes) -> String {
    let mut text = String::new();
    for file in &changes.files {
        text.push_str(&format!("**{}**\n", file.heading()));
        for hunk in &file.hunks {
            text.push_str(&format!("````diff\n{}\n````\n", hunk.diff.trim_end_matches('\n')));
        }
    }
    if !changes.outside.is_empty() {
        let count = plural(changes.outside.len(), "path");
        text.push_str(&format!("Outside of the workspace {count} changed: {}\n", changes.outside.join(", ")));
    }
    or_else(text, "Nothing was changed.")
}
