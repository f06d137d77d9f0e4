//! The panel above the composer: todos, background jobs and waiting calls. Shrinks on small screens.

use ratatui::text::Line;

use super::wrap;
use crate::tui::app::App;
use crate::tui::popup::list::PickRow as _;
use crate::tui::terminal::key_table::Action;
use crate::tui::terminal::keymap;
use base::model::observation::Todo;
use base::text;

const TODOS: usize = 5;
const OTHERS: usize = 3;
/// Smaller screens show only the waiting calls.
const SMALL: usize = 10;

pub fn lines(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
    if room < SMALL {
        return Vec::new();
    }
    let mut lines = todos(app, width, room / 4);
    let running: Vec<String> = app
        .jobs
        .iter()
        .filter(|job| job.ended.is_none())
        .map(|job| format!("job {}: {}", job.id, job.command))
        .collect();
    lines.extend(each(app, "◦", &running, width, "/jobs"));
    // Separate it from the transcript if there's no activity line in between.
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
        (key, true) if !key.is_empty() => format!("{key} {}", if folded { "shows" } else { "folds" }),
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

pub fn waiting(app: &App, width: usize, room: usize) -> Vec<Line<'static>> {
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
