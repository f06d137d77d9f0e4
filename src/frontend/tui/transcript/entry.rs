//! A finished piece of the transcript and its rendering.

use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::tool::{self, ToolView};
use crate::tui::render::highlight::scanner::State;
use crate::tui::render::theme::Theme;
use crate::tui::render::{markdown, wrap};
use crate::tui::terminal::key_table::Action;
use crate::tui::terminal::keymap;
use base::model::usage::Usage;
use base::protocol::event::{EndReason, Level, SessionInfo, TurnEnd};
use base::{sanitize, text};

const USER_LINES: usize = 30;
/// Shown of a longer message, because the user may have written after what they pasted.
const USER_TAIL: usize = 8;
const REASONING_LINES: usize = 3;

/// An answer comes in parts; a `tight` one continues the previous part without a blank line.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptEntry {
    Welcome(SessionInfo),
    User(Arc<str>),
    Answer { markdown: String, tight: bool, code: Option<State> },
    Reasoning(String),
    WholeReasoning(Arc<str>),
    Tool(ToolView),
    Notice { level: Level, text: String },
    TurnEnd(TurnEnd),
    Table { heading: String, rows: Vec<(String, String)> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptKind {
    Tool,
    Notice,
    Other,
}

impl TranscriptEntry {
    /// Replaces text that is too old to be printed again.
    pub fn cut() -> Self {
        let text = format!("… {} shows earlier output", keymap::name(Action::Transcript));
        Self::Notice { level: Level::Info, text }
    }

    /// Replaces lines that a slow terminal didn't get before an interruption.
    pub fn not_printed(lines: usize) -> Self {
        let lines = text::plural(lines, "line");
        let text = format!("… {lines} not shown; {} shows them", keymap::name(Action::Transcript));
        Self::Notice { level: Level::Info, text }
    }

    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::TurnEnd(end) if matches!(end.reason, EndReason::Interrupted { .. }))
    }

    pub fn kind(&self) -> TranscriptKind {
        match self {
            Self::Tool(_) => TranscriptKind::Tool,
            Self::Notice { .. } => TranscriptKind::Notice,
            _ => TranscriptKind::Other,
        }
    }

    pub fn lines(&self, before: Option<TranscriptKind>, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = self.render(width.max(1), theme);
        let tight = match (before, self) {
            (None, _) | (_, Self::Answer { tight: true, .. }) => true,
            (Some(before), _) => before != TranscriptKind::Other && before == self.kind(),
        };
        if !tight && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        lines
    }

    fn render(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        match self {
            Self::Welcome(info) => welcome(info, width, theme),
            Self::User(text) => user(text, width, theme),
            Self::Answer { markdown, code, .. } => markdown::render_from(markdown, width, theme, *code),
            Self::Reasoning(text) => reasoning(text, width, theme),
            Self::WholeReasoning(text) => {
                wrap::wrap_text(sanitize::clean(text).trim(), theme.dim(), "∴ ", "  ", width)
            }
            Self::Tool(view) => tool::render(view, width, "●", theme),
            Self::Notice { level, text } => notice(*level, text, width, theme),
            Self::TurnEnd(end) => turn_end(end, width, theme),
            Self::Table { heading, rows } => table(heading, rows, width, theme),
        }
    }
}

fn welcome(info: &SessionInfo, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![
        Span::styled("mycode", theme.heading()),
        Span::styled(format!(" {}", env!("CARGO_PKG_VERSION")), theme.dim()),
        Span::raw(format!("  {}", wrap::clip(&sanitize::clean(&info.workspace), width.saturating_sub(16)))),
    ])];
    let help = "@ to add a file · / for commands · /help for help";
    lines.extend(wrap::wrap_text(help, theme.dim(), "", "", width));
    if info.offer_init {
        let offer = "No AGENTS.md here. Write one? It tells the model how to work on this project.";
        lines.extend(wrap::wrap_text(offer, theme.question(), "? ", "  ", width));
        let choices = "Type 1 for yes (/init), 2 for not now, or 3 for never in this project";
        lines.extend(wrap::wrap_text(choices, theme.plain(), "  ", "  ", width));
    }
    lines
}

fn user(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    // Clean and wrap only the visible parts, because the text may be a pasted megabyte.
    let text = text.trim_end_matches('\n');
    let rows = |part: &str, first| wrap::wrap_text(&sanitize::clean(part), theme.user(), first, "  ", width);
    let end = text.match_indices('\n').nth(USER_LINES).map_or(text.len(), |(at, _)| at);
    let end = text.floor_char_boundary(end.min(width * USER_LINES));
    let mut lines = rows(&text[..end], "› ");
    if end == text.len() && lines.len() <= USER_LINES {
        return lines;
    }
    let start = text.rmatch_indices('\n').nth(USER_TAIL - 1).map_or(0, |(at, _)| at + 1);
    let start = text.ceil_char_boundary(start.max(text.len().saturating_sub(width * USER_TAIL)));
    let tail = rows(&text[start..], "  ");
    lines.truncate(USER_LINES - USER_TAIL);
    let tail = &tail[tail.len().saturating_sub(USER_TAIL)..];
    let shown: usize = lines.iter().chain(tail).map(|line| line.to_string().trim_start().len()).sum();
    let hidden = text::human_bytes(text.len().saturating_sub(shown) as u64);
    lines.push(Line::styled(format!("  … {hidden} more …"), theme.dim()));
    lines.extend_from_slice(tail);
    lines
}

fn reasoning(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = wrap::one_line(text, width * REASONING_LINES);
    if text.is_empty() {
        return Vec::new();
    }
    let mut lines = wrap::wrap_text(&text, theme.dim(), "∴ ", "  ", width);
    if lines.len() > REASONING_LINES {
        lines.truncate(REASONING_LINES);
        if let Some(last) = lines.last_mut() {
            let key = format!(" · {}", keymap::name(Action::Expand));
            let cut = wrap::clip(&format!("{last}…"), width.saturating_sub(wrap::width(&key)));
            *last = Line::styled(format!("{cut}{key}"), theme.dim());
        }
    }
    lines
}

fn notice(level: Level, text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let (mark, style) = match level {
        Level::Info => ("· ", theme.dim()),
        Level::Warning => ("! ", theme.warning()),
        Level::Error => ("✗ ", theme.bad()),
    };
    wrap::wrap_text(sanitize::clean(text).trim_end(), style, mark, "  ", width)
}

fn turn_end(end: &TurnEnd, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut facts = Vec::new();
    if end.steps > 0 {
        facts.push(text::plural(end.steps as usize, "step"));
    }
    facts.extend(usage(&end.usage));
    if end.steps > 0 || end.elapsed_ms >= 1000 {
        facts.push(duration(end.elapsed_ms / 1000));
    }
    if end.denied > 0 {
        facts.push(format!("{} denied", end.denied));
    }
    let facts: String = facts.iter().map(|fact| format!(" · {fact}")).collect();
    let (head, hint, style) = match &end.reason {
        EndReason::Done => ("✓ Done".to_owned(), String::new(), theme.good()),
        EndReason::Interrupted { prompt_returned } => {
            let hint = match prompt_returned {
                Some(_) => "No reply had arrived yet; your message was removed from the session.",
                None => "Finished work is kept. Type what to do instead.",
            };
            ("■ Interrupted".to_owned(), hint.to_owned(), theme.warning())
        }
        EndReason::StepLimit { limit } => {
            let hint = "Send \"continue\" to keep going.".to_owned();
            (format!("■ Stopped after {limit} steps"), hint, theme.warning())
        }
        EndReason::ProviderFailed { message, hint, .. } => {
            (format!("✗ No answer from the model: {message}"), sentence(hint), theme.bad())
        }
        EndReason::Failed { message, hint, .. } => {
            (format!("✗ {}", sentence(message)), sentence(hint), theme.bad())
        }
    };
    let head = sanitize::clean(&head).into_owned();
    let spans = [Span::styled(head.replace('\n', " "), style), Span::styled(facts, theme.dim())];
    let mut lines = wrap::wrap_spans(&spans, &[], &[Span::raw("  ")], width);
    if !hint.is_empty() {
        lines.extend(wrap::wrap_text(&sanitize::clean(&hint), theme.dim(), "  ", "  ", width));
    }
    lines
}

/// Capitalizes messages, which start in lower case to follow `error:`.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn table(heading: &str, rows: &[(String, String)], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(heading.to_owned(), theme.strong())];
    let column = rows.iter().map(|(name, _)| wrap::width(name)).max().unwrap_or(0).min(width / 2) + 2;
    for (name, text) in rows {
        let name = wrap::clip(&sanitize::clean(name), column);
        let pad = " ".repeat(column.saturating_sub(wrap::width(&name)));
        let first = [Span::raw("  "), Span::styled(name, theme.accent()), Span::raw(pad)];
        let rest = [Span::raw(" ".repeat(column + 2))];
        let text = [Span::raw(sanitize::clean(text).replace('\n', " "))];
        lines.extend(wrap::wrap_spans(&text, &first, &rest, width));
    }
    lines
}

fn usage(usage: &Usage) -> Option<String> {
    if usage.total() == 0 {
        return None;
    }
    let cached = if usage.cached > 0 {
        format!(" ({} cached)", text::human_tokens(usage.cached))
    } else {
        String::new()
    };
    Some(format!("{} in{cached}, {} out", text::human_tokens(usage.input), text::human_tokens(usage.output)))
}

pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}
