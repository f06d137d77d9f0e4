//! Draws the ledger (`/context`) and the history of one item (`/context why`).

use ratatui::text::{Line, Span};

use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::clock;
use base::protocol::ledger::{self as account, EpochSum, Epochs, ItemHistory, LedgerRow, LedgerView};
use base::sanitize;
use base::text;

const LAYERS: [(&str, &str); 6] = [
    ("L1", "System & tools"),
    ("L2", "Project rules"),
    ("L3", "History"),
    ("L4", "Question"),
    ("L5", "Todo recap"),
    ("L6", "Scratchpad"),
];

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
    let bar = width.saturating_sub(36).clamp(4, 100);
    for (id, name) in LAYERS {
        let rows = ledger.rows.iter().filter(|row| row.layer == id);
        let tokens: u64 = rows.map(|row| row.tokens).sum();
        if tokens == 0 {
            continue;
        }
        let filled = usize::try_from(tokens.saturating_mul(bar as u64) / window).unwrap_or(bar).clamp(1, bar);
        lines.push(Line::from(vec![
            Span::styled(format!("{id:<3}"), theme.accent()),
            Span::raw(format!("{name:<15}{:>7}  ", text::human_tokens(tokens))),
            Span::styled("█".repeat(filled), theme.accent()),
            Span::styled("░".repeat(bar - filled), theme.dim()),
            Span::raw(format!(" {:>6}", percent(tokens, window))),
        ]));
    }
    let free = ledger.window_tokens.saturating_sub(ledger.total_tokens);
    let share = percent(free, window);
    let free = format!("   {:<15}{:>7}  {share}", "free", text::human_tokens(free));
    lines.push(wrap::line(&free, width, theme.dim()));
    lines.push(wrap::line(&epochs(&ledger.epochs), width, theme.dim()));
    let agents = account::agents_line(&ledger.agents).map(|line| format!("   {line}"));
    lines.extend(agents.map(|line| wrap::line(&line, width, theme.dim())));
    lines
}

fn epochs(epochs: &Epochs) -> String {
    if epochs.by_cause.is_empty() {
        return "   epochs  1: every request extended the one before".to_owned();
    }
    let mut sums: Vec<&EpochSum> = epochs.by_cause.iter().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.tokens_lost));
    let causes: Vec<String> = sums
        .iter()
        .map(|sum| {
            let (read, saved) = (text::human_tokens(sum.tokens_lost), text::human_tokens(sum.tokens_saved));
            format!("{}× {} ({read}, {saved})", sum.count, sum.cause.as_str())
        })
        .collect();
    let count = 1 + sums.iter().map(|sum| sum.count).sum::<u64>();
    format!("   epochs  {count} (re-read, saved): {}", causes.join(", "))
}

pub fn item_spans(row: &LedgerRow, chosen: bool, width: usize, theme: Theme) -> Vec<Span<'static>> {
    let pin = if row.pinned && row.id.starts_with('#') { " · pinned" } else { "" };
    let origin = wrap::one_line(&row.origin, 300);
    let width = width.saturating_sub(2);
    let fixed =
        format!("{:>6}  {:<3}{:<7}{:<11}", text::human_tokens(row.tokens), row.layer, row.id, row.form);
    let room = width.saturating_sub(wrap::width(&fixed) + wrap::width(pin));
    vec![
        Span::styled(wrap::clip(&fixed, width), if chosen { theme.user() } else { theme.dim() }),
        Span::styled(wrap::clip(&origin, room), theme.row(chosen).1),
        Span::styled(pin, theme.warning()),
    ]
}

fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    if part > 0 && share < 9.95 { format!("{share:.1}%") } else { format!("{share:.0}%") }
}

pub fn history_heading(history: &ItemHistory) -> String {
    format!("{}  {}", history.id, wrap::one_line(&history.origin, 120))
}

pub fn history_rows(history: &ItemHistory) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(ms) = history.arrived_ms {
        rows.push(("arrived".to_owned(), clock::local(ms)));
    }
    let pinned = if history.pinned { ", pinned" } else { "" };
    rows.push(("original".to_owned(), format!("{} tokens", history.full_tokens)));
    rows.push(("sent now".to_owned(), format!("{} tokens, {}{pinned}", history.tokens, history.form)));
    if history.events.is_empty() {
        rows.push(("changes".to_owned(), "none".to_owned()));
    }
    for event in &history.events {
        let when = format!("after request {}", event.after_requests);
        rows.push((when, format!("{} — {}", event.what, event.cause)));
    }
    rows.push(("recall".to_owned(), history.recall.clone()));
    rows
}
