//! `/context`: shows what fills the window; keys pin, drop and restore items. Keys do nothing until the
//! ledger arrives.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PopupAction, Selection};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::keymap;
use base::protocol::ledger::{
    self as account, AgentSum, ContextEdit, EpochSum, Epochs, ItemHistory, LedgerRow, LedgerView,
};
use base::protocol::op::{Control, Op, Quick};
use base::{clock, sanitize, text};

const STORY_ROWS: usize = 12;
const TEXT_WIDTH: usize = 120;

#[derive(Clone, Debug, Default)]
pub struct ContextPopup {
    ledger: Option<LedgerView>,
    rows: Vec<LedgerRow>,
    selection: Selection,
    history: Option<ItemHistory>,
    message: Option<String>,
}

impl ContextPopup {
    pub fn fill(&mut self, ledger: LedgerView) {
        let chosen = self.rows.get(self.selection.index).map(|row| row.id.clone());
        self.rows.clone_from(&ledger.rows);
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
        let at = chosen.and_then(|id| self.rows.iter().position(|row| row.id == id));
        self.selection = Selection::new(self.rows.len());
        self.selection.index = at.unwrap_or(0);
        self.ledger = Some(ledger);
    }

    pub fn tell(&mut self, history: ItemHistory) {
        self.history = Some(history);
        self.message = None;
    }

    pub fn say(&mut self, text: &str) {
        self.message = Some(text.to_owned());
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if self.history.is_some() {
            if list::closes(key) || matches!(key.code, KeyCode::Enter | KeyCode::Backspace) {
                self.history = None;
            }
            return PopupAction::Nothing;
        }
        if list::closes(key) {
            return PopupAction::Close;
        }
        self.message = None;
        if self.selection.key(key) {
            return PopupAction::Nothing;
        }
        let Some(row) = self.rows.get(self.selection.index) else { return PopupAction::Nothing };
        let edit = match keymap::plain_char(key).map(|c| c.to_ascii_lowercase()) {
            Some('p') if row.pinned => Some(ContextEdit::Unpin),
            Some('p') => Some(ContextEdit::Pin),
            Some('d') => Some(ContextEdit::Drop),
            Some('r') => Some(ContextEdit::Restore),
            _ if key.code == KeyCode::Enter => None,
            _ => return PopupAction::Nothing,
        };
        if let Some(id) = account::item_id(&row.id) {
            return PopupAction::Send(match edit {
                Some(edit) => Op::Control(Control::EditContext { edit, id }),
                None => Op::Quick(Quick::Explain { id: row.id.clone() }),
            });
        }
        self.message = Some(format!("This part is always sent in full: {}.", row.origin));
        PopupAction::Nothing
    }

    /// Cuts the list first, then the bars; the key hints stay.
    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(ledger) = &self.ledger else {
            let wait = self.message.clone().unwrap_or_else(|| "Measuring the next request…".to_owned());
            let mut lines = wrap::wrap_text(&sanitize::clean(&wait), theme.plain(), "", "", width);
            lines.extend(list::hint("Esc to close", width, theme));
            return lines;
        };
        let mut foot: Vec<Line<'static>> = Vec::new();
        if let Some(message) = &self.message {
            let told = wrap::wrap_text(&sanitize::clean(message), theme.warning(), "· ", "  ", width);
            foot.extend(told.into_iter().take(2));
        }
        foot.extend(list::hint(
            "↑↓ select · Enter why · p pin · d drop · r restore · Esc close",
            width,
            theme,
        ));
        let mut head = head(ledger, width, theme);
        if room >= 20 {
            head.push(Line::default());
        }
        let list_room = self.rows.len().min(4);
        head.truncate(room.saturating_sub(foot.len() + list_room).max(1));
        let left = room.saturating_sub(head.len() + foot.len());
        let mut lines = head;
        if left > 0 {
            lines.extend(self.selection.lines(left, width, theme, |index, _| {
                item_spans(&self.rows[index], index == self.selection.index, width, theme)
            }));
        }
        lines.extend(foot);
        match &self.history {
            // As high as the list, so that nothing jumps.
            Some(told) => story_lines(told, width, lines.len().max(room.min(STORY_ROWS)), theme),
            None => lines,
        }
    }
}

pub fn text(ledger: LedgerView) -> String {
    let agents = ledger.agents.iter().map(|agent| {
        let AgentSum { kind, id, steps, tokens, .. } = agent;
        format!("{kind} {id}: {steps} steps, {tokens} tokens (`mycode context {id}` shows its window)\n")
    });
    let agents: String = agents.collect();
    let mut popup = ContextPopup::default();
    popup.fill(ledger);
    let lines = popup.lines(TEXT_WIDTH, usize::MAX, Theme::PLAIN);
    let lines = lines.iter().map(|line| format!("{}\n", line.to_string().trim_end_matches(['▸', ' '])));
    lines.collect::<String>() + &agents
}

fn story_lines(told: &ItemHistory, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines =
        wrap::wrap_text(&sanitize::clean(&history_heading(told)), theme.strong(), "", "  ", width);
    for (name, fact) in history_rows(told) {
        let first = format!("  {name:<17} ");
        let rest = " ".repeat(20.min(width / 2));
        lines.extend(wrap::wrap_text(&sanitize::clean(&fact), theme.plain(), &first, &rest, width));
    }
    lines.resize(room.saturating_sub(1), Line::default());
    lines.extend(list::hint("Esc to go back", width, theme));
    lines
}

const LAYERS: [(&str, &str); 6] = [
    ("L1", "System & tools"),
    ("L2", "Project rules"),
    ("L3", "History"),
    ("L4", "Question"),
    ("L5", "Todo recap"),
    ("L6", "Scratchpad"),
];

fn head(ledger: &LedgerView, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let window = ledger.window_tokens.max(1);
    let (used, whole) = (text::human_tokens(ledger.total_tokens), text::human_tokens(ledger.window_tokens));
    let share = percent(ledger.total_tokens, window);
    let sum = format!("{used} of {whole} tokens ({share}, ±{:.0}%)", ledger.error_percent);
    let origin = format!(" · window size from {}", sanitize::clean(&ledger.window_origin));
    let room = width.saturating_sub(8 + wrap::width(&sum));
    let mut lines = vec![Line::from(vec![
        Span::styled("Context ", theme.strong()),
        Span::raw(wrap::clip(&sum, width.saturating_sub(8))),
        Span::styled(wrap::clip(&origin, room), theme.dim()),
    ])];
    let bar = if theme.is_plain() { 0 } else { width.saturating_sub(36).clamp(4, 100) };
    for (id, name) in LAYERS {
        let rows = ledger.rows.iter().filter(|row| row.layer == id);
        let tokens: u64 = rows.map(|row| row.tokens).sum();
        if tokens == 0 {
            continue;
        }
        let filled = (tokens.saturating_mul(bar as u64) + window / 2) / window;
        let filled = usize::try_from(filled).unwrap_or(bar).min(bar);
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
        return "   epochs  1 (every request extended the previous one)".to_owned();
    }
    let mut sums: Vec<&EpochSum> = epochs.by_cause.iter().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.tokens_lost));
    let causes: Vec<String> = sums
        .iter()
        .map(|sum| {
            let (read, saved) = (text::human_tokens(sum.tokens_lost), text::human_tokens(sum.tokens_saved));
            format!("{}× {} ({read}, {saved})", sum.count, sum.cause.into_str())
        })
        .collect();
    let count = 1 + sums.iter().map(|sum| sum.count).sum::<u64>();
    format!("   epochs  {count} (re-read, saved): {}", causes.join(", "))
}

fn item_spans(row: &LedgerRow, chosen: bool, width: usize, theme: Theme) -> Vec<Span<'static>> {
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
