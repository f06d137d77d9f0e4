//! Draws the ledger (`/context`): how the window is filled, a bar a layer, the largest items first.
//! Knows only the protocol's ledger.

use ratatui::text::{Line, Span};

use crate::base::{sanitize, text};
use crate::protocol::ledger::{LedgerRow, LedgerView};
use crate::tui::theme::Theme;
use crate::tui::wrap;

/// Items that are listed: with six layers the whole then fits on 24 rows.
const ITEMS: usize = 9;

/// The names of the layers (SPEC §1).
const LAYERS: [(&str, &str); 6] = [
    ("L1", "System & tools"),
    ("L2", "Project rules"),
    ("L3", "History"),
    ("L4", "Question"),
    ("L5", "Todo recap"),
    ("L6", "Scratchpad"),
];

/// The ledger as lines.
pub fn render(ledger: &LedgerView, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let window = ledger.window_tokens.max(1);
    let mut lines = vec![Line::from(vec![
        Span::styled("Context ", theme.strong()),
        Span::raw(format!(
            "{} of {} tokens ({}%)",
            text::human_tokens(ledger.total_tokens),
            text::human_tokens(ledger.window_tokens),
            percent(ledger.total_tokens, window)
        )),
        Span::styled(format!(" · window size from {}", sanitize::clean(&ledger.window_origin)), theme.dim()),
    ])];
    let bar_width = width.saturating_sub(36).clamp(4, 60);
    for (id, name) in layers(ledger) {
        let tokens: u64 = ledger.rows.iter().filter(|row| row.layer == id).map(|row| row.tokens).sum();
        lines.push(layer_line(&id, &name, tokens, ledger.total_tokens.max(1), bar_width, theme));
    }
    let free = ledger.window_tokens.saturating_sub(ledger.total_tokens);
    lines.push(Line::styled(format!("   {:<15}{:>7}", "free", text::human_tokens(free)), theme.dim()));
    lines.push(Line::default());
    let mut rows: Vec<&LedgerRow> = ledger.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    for row in rows.iter().take(ITEMS) {
        lines.push(item_line(row, width, theme));
    }
    if rows.len() > ITEMS {
        let rest: u64 = rows[ITEMS..].iter().map(|row| row.tokens).sum();
        let more = text::plural(rows.len() - ITEMS, "more item");
        lines.push(Line::styled(format!("{:>7}  … {more}", text::human_tokens(rest)), theme.dim()));
    }
    lines
}

/// The known layers that hold something, then unknown ones, so that the sum is always whole.
fn layers(ledger: &LedgerView) -> Vec<(String, String)> {
    let mut layers: Vec<(String, String)> = LAYERS
        .iter()
        .filter(|(id, _)| ledger.rows.iter().any(|row| row.layer == *id))
        .map(|(id, name)| ((*id).to_owned(), (*name).to_owned()))
        .collect();
    for row in &ledger.rows {
        if !layers.iter().any(|(id, _)| *id == row.layer) {
            layers.push((row.layer.clone(), String::new()));
        }
    }
    layers
}

fn layer_line(id: &str, name: &str, tokens: u64, total: u64, bar: usize, theme: Theme) -> Line<'static> {
    let filled = usize::try_from(tokens.saturating_mul(bar as u64) / total).unwrap_or(bar).min(bar);
    let filled = if tokens > 0 { filled.max(1) } else { 0 };
    Line::from(vec![
        Span::styled(format!("{id:<3}"), theme.accent()),
        Span::raw(format!("{name:<15}{:>7}  ", text::human_tokens(tokens))),
        Span::styled("█".repeat(filled), theme.accent()),
        Span::styled("░".repeat(bar - filled), theme.dim()),
        Span::raw(format!(" {:>3}%", percent(tokens, total))),
    ])
}

fn item_line(row: &LedgerRow, width: usize, theme: Theme) -> Line<'static> {
    let pin = if row.pinned { " · pinned" } else { "" };
    let origin = text::one_line(&sanitize::clean(&row.origin), 300);
    let fixed =
        format!("{:>7}  {:<3}{:<7}{:<11}", text::human_tokens(row.tokens), row.layer, row.id, row.form);
    let room = width.saturating_sub(wrap::width(&fixed) + pin.len());
    Line::from(vec![
        Span::styled(fixed, theme.dim()),
        Span::raw(wrap::clip(&origin, room)),
        Span::styled(pin, theme.warning()),
    ])
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100) / whole.max(1)
}
