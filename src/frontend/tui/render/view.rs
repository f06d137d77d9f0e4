//! Draws the viewport as lines, which set its height: what is live, the panel of todos, jobs and waiting calls, the
//! composer or what stands in its place. On a tiny screen the composer takes precedence.

use ratatui::text::{Line, Span};

use crate::tui::app::App;
use crate::tui::popup::list::PickRow as _;
use crate::tui::popup::question::OpenQuestion;
use crate::tui::render::{status, wrap};
use crate::tui::terminal::key_table::Action;
use crate::tui::terminal::keymap;
use crate::tui::transcript::entry::TranscriptEntry;
use crate::tui::transcript::live::Piece;
use crate::tui::transcript::tool;
use base::model::observation::Todo;
use base::text;

/// A third of the screen, or this many rows if larger.
const COMPOSER_ROWS: usize = 6;
const COMPLETION_ROWS: usize = 8;
/// Rows of the live part on a slow connection.
const SLOW_ROWS: usize = 3;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    pub lines: Vec<Line<'static>>,
    /// How many of the last lines are the composer and what belongs to it.
    pub foot: usize,
    pub caret: Option<(usize, usize)>,
    /// Nothing moves, so the terminal's own cursor can be at the caret.
    pub still: bool,
    pub popup: bool,
}

impl Drawing {
    /// Keeps what is above the foot as it was in `before`, whose foot has the same height.
    pub fn below(mut self, before: &Self) -> Self {
        let (above, kept) = (self.lines.len() - self.foot, before.lines.len() - self.foot);
        self.caret = self.caret.map(|(column, row)| (column, row.saturating_sub(above) + kept));
        self.lines.splice(..above, before.lines[..kept].iter().cloned());
        self
    }
}

const RULE_MARGIN: usize = 2;

pub fn picture(app: &App, width: usize, room: usize) -> Drawing {
    if width == 0 || room == 0 {
        return Drawing::default();
    }
    let mut picture = foot(app, width, room);
    picture.foot = picture.lines.len();
    picture.still = app.turn.is_none() && app.compacting.is_none() && app.live.pieces.is_empty();
    let armed = app.questions.first().filter(|question| question.armed);
    let unfolded = armed.and_then(OpenQuestion::approval).is_some_and(|form| form.unfolded);
    picture.popup = app.shown_popup().is_some() || unfolded;
    if picture.popup {
        return picture;
    }
    let mut left = room - picture.lines.len().min(room);
    let parts = [
        queued(app, width),
        panel(app, width, room),
        status::activity(app, width).map_or_else(Vec::new, |line| vec![Line::default(), line]),
        waiting(app, width, room),
        live(app, width, if app.slow { left.min(SLOW_ROWS) } else { left }),
    ];
    for mut part in parts {
        let cut = part.len().saturating_sub(left);
        part.drain(..cut);
        left -= part.len();
        picture.caret = picture.caret.map(|(column, row)| (column, row + part.len()));
        part.append(&mut picture.lines);
        picture.lines = part;
    }
    picture
}

fn foot(app: &App, width: usize, room: usize) -> Drawing {
    let theme = app.theme;
    let status_rows = usize::from(room >= 2);
    let rule_rows = usize::from(room >= 6);
    let body_room = room - status_rows - rule_rows;
    // A slightly narrower terminal doesn't wrap it, so the rows above stay where they are.
    let rule = width.saturating_sub(RULE_MARGIN).max(1);
    let mut picture = Drawing::default();
    if rule_rows > 0 {
        picture.lines.push(Line::styled("─".repeat(rule), theme.dim()));
    }
    let mut caret = None;
    if let Some(popup) = app.shown_popup() {
        picture.lines.extend(popup.lines(width, body_room, theme));
    } else if let Some(question) = app.questions.first().filter(|question| question.armed) {
        let (lines, at) = question.lines(width, body_room, theme);
        caret = at.map(|(row, column)| (row + rule_rows, column));
        picture.lines.extend(lines.into_iter().take(body_room));
    } else {
        if let Some(question) = app.questions.first() {
            let (mut lines, _) = question.lines(width, body_room.saturating_sub(1), theme);
            let excess = (lines.len() + 1).saturating_sub(body_room);
            lines.drain(..excess.min(lines.len()));
            picture.lines.extend(lines);
        }
        let left = body_room.saturating_sub(picture.lines.len() - rule_rows);
        let (lines, at, hidden) = composer(app, width, left.max(1), room);
        if hidden > 0 && rule_rows > 0 {
            let label = format!("── {} hidden ", text::plural(hidden, "row"));
            picture.lines[0] = Line::styled(format!("{label:─<rule$}"), theme.dim());
        }
        caret = Some((picture.lines.len() + at.0, at.1));
        let left = left.max(1).saturating_sub(lines.len());
        picture.lines.extend(lines);
        let left = left.min(COMPLETION_ROWS);
        let offered = app.completion.iter().flat_map(|completion| completion.lines(width, left, theme));
        picture.lines.extend(offered.take(left));
    }
    if status_rows > 0 {
        picture.lines.push(status::status(app, width));
    }
    picture.caret = caret.map(|(row, column)| (column, row));
    picture
}

/// Rows, the caret's row and column, and how many rows are hidden.
type Rows = (Vec<Line<'static>>, (usize, usize), usize);

fn composer(app: &App, width: usize, room: usize, screen: usize) -> Rows {
    let theme = app.theme;
    let drawn = app.composer.draw(width.saturating_sub(3).max(1));
    let most = COMPOSER_ROWS.max(screen / 3).min(room).max(1);
    let hidden = drawn.rows.len().saturating_sub(most);
    let (row, column) = drawn.caret;
    let start = (row + 1).saturating_sub(most).min(hidden);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (index, text) in drawn.rows.into_iter().enumerate().skip(start).take(most) {
        let mark = if index == 0 { "› " } else { "  " };
        lines.push(Line::from(vec![Span::styled(mark, theme.user()), Span::raw(text)]));
    }
    if app.composer.is_empty() {
        let words = if app.turn.is_some() { "Add a message to this turn" } else { "Type a task" };
        let words = Span::styled(wrap::clip(words, width.saturating_sub(3)), theme.dim());
        lines = vec![Line::from(vec![Span::styled("› ", theme.user()), words])];
    }
    (lines, (row - start.min(row), (column + 2).min(width.saturating_sub(1))), hidden)
}

fn queued(app: &App, width: usize) -> Vec<Line<'static>> {
    let line = |label: &str, text: &str| {
        let text = wrap::one_line(&text[..text.floor_char_boundary(1_000)], 500);
        wrap::line(&format!("  {label}: {text}"), width, app.theme.dim())
    };
    let mut lines: Vec<Line<'static>> = app.queued.iter().map(|text| line("queued", text)).collect();
    lines.extend(app.later.iter().map(|text| line("after this turn", text)));
    if let Some(last) = lines.last_mut().filter(|last| wrap::width(&last.to_string()) + 11 <= width) {
        last.push_span(" · Up to edit");
    }
    lines
}

fn live(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    // The lines before it aren't printed yet.
    if room == 0 || (app.slow && app.behind > 0) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut before = app.last_printed;
    for piece in &app.live.pieces {
        let Some(entry) = piece.entry() else { continue };
        match (piece, &entry) {
            (Piece::Tool(view), TranscriptEntry::Tool(_)) => {
                let tight = before.is_none_or(|kind| kind == entry.kind());
                if !tight {
                    lines.push(Line::default());
                }
                match tool::agent_line(view) {
                    Some(agent) => {
                        let agent = wrap::clip(&agent, width.saturating_sub(2));
                        let mark = Span::styled(format!("{} ", status::frame(app)), app.theme.accent());
                        lines.push(Line::from(vec![mark, Span::raw(agent)]));
                    }
                    None => lines.extend(tool::render(view, width, status::frame(app), app.theme)),
                }
            }
            _ => lines.extend(entry.lines(before, width, app.theme)),
        }
        before = Some(entry.kind());
    }
    lines.drain(..lines.len().saturating_sub(room));
    lines
}

const TODOS: usize = 5;
const OTHERS: usize = 3;
const SMALL: usize = 10;

fn panel(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    if room < SMALL {
        return Vec::new();
    }
    let mut lines = todos(app, width, room / 4);
    let running = app.jobs.iter().filter(|job| job.ended.is_none());
    let running: Vec<String> = running.map(|job| format!("job {}: {}", job.id, job.command)).collect();
    lines.extend(each(app, "◦", &running, width, "/jobs"));
    // Separates it from the transcript if there's no activity line.
    if app.turn.is_none() && !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

fn todos(app: &App, width: usize, most: usize) -> Vec<Line<'static>> {
    let open: Vec<&Todo> = app.todos.iter().filter(|todo| todo.is_open()).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let done = app.todos.len() - open.len();
    let folded = app.todos_folded || app.turn.is_none();
    let key = match (keymap::name(Action::FoldTodos), app.turn.is_some()) {
        (key, true) if !key.is_empty() => format!("{key} to {}", if folded { "show" } else { "fold" }),
        _ => "/todos".to_owned(),
    };
    let head = format!("  {done} of {} done · {key}", text::plural(app.todos.len(), "todo"));
    let mut lines = vec![wrap::line(&head, width, app.theme.dim())];
    if !folded {
        let most = most.clamp(1, TODOS);
        for todo in open.iter().take(most) {
            let spans = todo.spans(width.saturating_sub(2), app.theme);
            lines.push(Line::from([vec!["  ".into()], spans].concat()));
        }
        lines.extend(more(app, open.len().saturating_sub(most), width, ""));
    }
    lines
}

fn waiting(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    let titles: Vec<String> = app.waiting.iter().map(|(_, title)| format!("{title} · queued")).collect();
    match titles.len() {
        count @ 1.. if room < SMALL => {
            let text = format!("○ {} waiting", text::plural(count, "call"));
            vec![wrap::line(&text, width, app.theme.dim())]
        }
        _ => each(app, "○", &titles, width, ""),
    }
}

fn each(app: &App, mark: &str, titles: &[String], width: usize, how: &str) -> Vec<Line<'static>> {
    let line = |title: &String| {
        let title = wrap::one_line(title, 300);
        wrap::line(&format!("{mark} {title}"), width, app.theme.dim())
    };
    let mut lines: Vec<Line<'static>> = titles.iter().take(OTHERS).map(line).collect();
    lines.extend(more(app, titles.len().saturating_sub(OTHERS), width, how));
    lines
}

fn more(app: &App, count: usize, width: usize, how: &str) -> Option<Line<'static>> {
    let how = if how.is_empty() { String::new() } else { format!(" · {how}") };
    let text = format!("  … {count} more{how}");
    (count > 0).then(|| wrap::line(&text, width, app.theme.dim()))
}
