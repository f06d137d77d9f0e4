//! Draws the ledger (`/context`): how the window is filled, a bar a layer, what broke the cache, one line an item.

use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::base::text;
use crate::protocol::ledger::{BreakSum, LedgerRow, LedgerView};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

/// The names of the layers (SPEC §1).
const LAYERS: [(&str, &str); 6] = [
    ("L1", "System & tools"),
    ("L2", "Project rules"),
    ("L3", "History"),
    ("L4", "Question"),
    ("L5", "Todo recap"),
    ("L6", "Scratchpad"),
];

/// What stands above the items: the sum, a bar for each layer, the breaks.
pub fn head(ledger: &LedgerView, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let window = ledger.window_tokens.max(1);
    let (used, whole) = (text::human_tokens(ledger.total_tokens), text::human_tokens(ledger.window_tokens));
    let sum = format!(
        "{used} of {whole} tokens ({}, ±{:.0}%)",
        percent(ledger.total_tokens, window),
        ledger.error_percent
    );
    let origin = format!(" · window size from {}", sanitize::clean(&ledger.window_origin));
    let room = width.saturating_sub(8 + wrap::width(&sum));
    let mut lines = vec![Line::from(vec![
        Span::styled("Context ", theme.strong()),
        Span::raw(wrap::clip(&sum, width.saturating_sub(8))),
        Span::styled(wrap::clip(&origin, room), theme.dim()),
    ])];
    let bar_width = width.saturating_sub(36).clamp(4, 100);
    for (id, name) in layers(ledger) {
        let tokens: u64 = ledger.rows.iter().filter(|row| row.layer == id).map(|row| row.tokens).sum();
        lines.push(layer_line(&id, &name, tokens, ledger, bar_width, theme));
    }
    let free = ledger.window_tokens.saturating_sub(ledger.total_tokens);
    let share = percent(free, window);
    let free = format!("   {:<15}{:>7}  {share}", "free", text::human_tokens(free));
    lines.push(Line::styled(wrap::clip(&free, width), theme.dim()));
    lines.push(Line::styled(wrap::clip(&breaks(&ledger.breaks), width), theme.dim()));
    lines
}

/// The breaks in one line, the dearest first.
fn breaks(sums: &[BreakSum]) -> String {
    if sums.is_empty() {
        return "   cache breaks   none: every request began with the one before it".to_owned();
    }
    let mut sums: Vec<&BreakSum> = sums.iter().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.tokens_lost));
    let causes: Vec<String> = sums
        .iter()
        .map(|sum| format!("{}× {} ({})", sum.count, sum.cause.as_str(), text::human_tokens(sum.tokens_lost)))
        .collect();
    format!("   cache breaks (tokens re-read)  {}", causes.join(", "))
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

fn layer_line(
    id: &str,
    name: &str,
    tokens: u64,
    ledger: &LedgerView,
    bar: usize,
    theme: Theme,
) -> Line<'static> {
    let total = ledger.total_tokens.max(1);
    let filled = usize::try_from(tokens.saturating_mul(bar as u64) / total).unwrap_or(bar).min(bar);
    let filled = if tokens > 0 { filled.max(1) } else { 0 };
    Line::from(vec![
        Span::styled(format!("{id:<3}"), theme.accent()),
        Span::raw(format!("{name:<15}{:>7}  ", text::human_tokens(tokens))),
        Span::styled("█".repeat(filled), theme.accent()),
        Span::styled("░".repeat(bar - filled), theme.dim()),
        Span::raw(format!(" {:>6}", percent(tokens, ledger.window_tokens))),
    ])
}

/// One item.
pub fn item_line(row: &LedgerRow, chosen: bool, width: usize, theme: Theme) -> Line<'static> {
    let pin = if row.pinned && row.id.starts_with('#') { " · pinned" } else { "" };
    let origin = text::one_line(&sanitize::clean(&row.origin), 300);
    let mark = if chosen { "▸" } else { " " };
    let fixed =
        format!("{mark}{:>7}  {:<3}{:<7}{:<11}", text::human_tokens(row.tokens), row.layer, row.id, row.form);
    let room = width.saturating_sub(wrap::width(&fixed) + wrap::width(pin));
    Line::from(vec![
        Span::styled(wrap::clip(&fixed, width), if chosen { theme.selected() } else { theme.dim() }),
        Span::styled(wrap::clip(&origin, room), if chosen { theme.selected() } else { theme.plain() }),
        Span::styled(pin, theme.warning()),
    ])
}

/// A share of the window: `7%`, `0.4%`.
fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    if part > 0 && share < 9.95 { format!("{share:.1}%") } else { format!("{share:.0}%") }
}
