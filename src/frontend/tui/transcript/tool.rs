//! A tool call as users see it: progress while it runs, then one line of outcome. Reads only the envelope;
//! unknown tools and missing facts are shown plainly.

use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::diff;
use crate::tui::popup::pickers::todos;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::model::envelope::{Envelope, Status};
use base::model::facts::Touch;
use base::model::item::{ToolResult, UserMessage};
use base::model::observation::{Command, Observation, Search, Todo, TodoStatus};
use base::{sanitize, text};

const DIFF_LINES: usize = 20;
const TAIL_LINES: usize = 3;
const USER_LINES: usize = 60;
/// Longer diffs are cut after counting changed lines.
const KEEP_DIFF_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolView {
    pub call_id: Arc<str>,
    pub tool: Arc<str>,
    pub title: String,
    pub tail: String,
    pub ran: bool,
    pub outcome: Option<OutcomeLine>,
}

impl ToolView {
    pub fn of_result(result: &ToolResult, title: String) -> Self {
        let (call_id, tool) = (Arc::clone(&result.call_id), Arc::clone(&result.tool));
        Self { call_id, tool, title, outcome: Some(outcome(&result.envelope)), ..Self::default() }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutcomeLine {
    pub failed: bool,
    pub partial: bool,
    pub summary: String,
    pub diff: Option<String>,
    pub tail: String,
    pub by_user: bool,
    pub todos: Vec<Todo>,
}

pub fn outcome(envelope: &Envelope) -> OutcomeLine {
    let mut outcome = OutcomeLine { partial: envelope.status == Status::Partial, ..OutcomeLine::default() };
    if envelope.status == Status::Error {
        let message = envelope.error.as_ref().map_or(envelope.text.as_str(), |error| error.message.as_str());
        outcome.failed = true;
        outcome.summary = first_line(envelope.data.user_text().unwrap_or(message));
        return outcome;
    }
    let data = &envelope.data;
    if let Some(diff) = data.diff() {
        let (added, removed) = diff::counts(diff);
        let created = matches!(data.touched(), Some((_, Touch::Created)));
        outcome.summary = format!("{}+{added} -{removed}", if created { "created, " } else { "" });
        outcome.diff = Some(diff[..diff.floor_char_boundary(KEEP_DIFF_BYTES)].to_owned());
        return outcome;
    }
    let counted = |noun: &str| data.total().map(|count| text::plural(count as usize, noun));
    outcome.summary = match &*data.observation {
        Observation::Read(_) => read_summary(envelope),
        Observation::Listing(_) => counted("entry"),
        Observation::Search(Search { total_matches: Some(_), total_files: Some(files), .. }) => {
            counted("match").map(|matches| format!("{matches} in {}", text::plural(*files as usize, "file")))
        }
        Observation::Search(Search { total_matches: Some(_), .. }) => counted("match"),
        Observation::Search(Search { pattern: Some(_), .. }) => counted("file"),
        Observation::Command(command) if command.id.is_none() => {
            // The user wants to see more of their own command's output.
            outcome.by_user = data.by_user();
            let most = if outcome.by_user { USER_LINES } else { TAIL_LINES };
            let tail = last_lines(&envelope.body, most).into_iter().map(|line| text::elide(line, 500));
            outcome.tail = tail.collect::<Vec<_>>().join("\n");
            bash_summary(command, outcome.by_user, &envelope.body)
        }
        Observation::Todos(_) => {
            outcome.todos = data.todos().unwrap_or_default().to_vec();
            None
        }
        Observation::Answers(answers) => {
            answers.replies.as_ref().map(|replies| first_line(&text::one_line(&replies.join(" · "), 400)))
        }
        _ => None,
    }
    .unwrap_or_else(|| {
        if outcome.todos.is_empty() {
            let said = first_line(&envelope.text);
            if said.is_empty() { first_line(&envelope.body) } else { said }
        } else {
            let done = outcome.todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
            format!("{done} of {} done", outcome.todos.len())
        }
    });
    outcome
}

pub fn run_by_user(message: &UserMessage) -> Option<(String, ToolResult)> {
    let (command, output) = message.command()?;
    let envelope = Envelope::success("").with_body("output", output).with("by_user", true);
    Some((format!("Bash {command}"), ToolResult::new("", "Bash", envelope)))
}

pub fn agent_line(view: &ToolView) -> Option<String> {
    let task =
        view.title.strip_prefix("Task ").filter(|_| &*view.tool == "Task" && view.outcome.is_none())?;
    let doing = view.tail.split_once(": ").map_or("", |(_, doing)| doing);
    let gap = if doing.is_empty() { "" } else { " · " };
    Some(wrap::one_line(&format!("{task}{gap}{doing}"), 400))
}

pub fn render(view: &ToolView, width: usize, frame: &str, theme: Theme) -> Vec<Line<'static>> {
    let (mark, style) = match &view.outcome {
        None if view.ran => ("●", theme.dim()),
        None => (frame, theme.accent()),
        Some(outcome) if outcome.failed => ("●", theme.bad()),
        Some(outcome) if outcome.partial => ("●", theme.warning()),
        Some(_) => ("●", theme.good()),
    };
    let title = wrap::one_line(&view.title, 400);
    let rest =
        title.strip_prefix(view.tool.as_ref()).filter(|rest| rest.is_empty() || rest.starts_with([' ', ':']));
    let rest = rest.map_or_else(|| format!(" {title}"), str::to_owned);
    let spans = [Span::styled(sanitize::clean(&view.tool).into_owned(), theme.strong()), Span::raw(rest)];
    let first = [Span::styled(format!("{mark} "), style)];
    let mut lines = wrap::wrap_spans(&spans, &first, &[Span::raw("  ")], width);
    if lines.len() > 3 {
        lines.truncate(3);
        lines.push(Line::styled("  …", theme.dim()));
    }
    match &view.outcome {
        None => lines.extend(dim_tail(&view.tail, TAIL_LINES, width, theme)),
        Some(outcome) => lines.extend(render_outcome(outcome, width, theme)),
    }
    lines
}

fn render_outcome(outcome: &OutcomeLine, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if !outcome.summary.is_empty() {
        let style = match (outcome.failed, outcome.partial) {
            (true, _) => theme.bad(),
            (_, true) => theme.warning(),
            _ => theme.dim(),
        };
        let summary = clip_after_sentence(&sanitize::clean(&outcome.summary), width.saturating_sub(4));
        lines.push(Line::from(vec![Span::styled("  └ ", theme.dim()), Span::styled(summary, style)]));
    }
    let most = if outcome.by_user { USER_LINES } else { TAIL_LINES };
    lines.extend(dim_tail(&outcome.tail, most, width, theme));
    if let Some(diff) = &outcome.diff {
        lines.extend(diff::render(diff, width, DIFF_LINES, theme));
    }
    for todo in &outcome.todos {
        let (mark, content, style) = todos::shown(todo, theme);
        lines.extend(wrap::wrap_text(&content, style, &format!("    {mark}"), "      ", width));
    }
    lines
}

fn clip_after_sentence(text: &str, room: usize) -> String {
    let clipped = wrap::clip(text, room);
    match clipped.rsplit_once(". ") {
        Some((whole, _)) if clipped != text => format!("{whole}. …"),
        _ => clipped,
    }
}

fn dim_tail(tail: &str, most: usize, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let dim = |line: &str| {
        // Cut huge lines before measuring them.
        let line = wrap::detab(&line[..line.floor_char_boundary(2_000)]).into_owned();
        Line::styled(format!("    {}", wrap::clip(&line, width.saturating_sub(4))), theme.dim())
    };
    last_lines(&sanitize::clean(tail), most).into_iter().map(dim).collect()
}

fn read_summary(envelope: &Envelope) -> Option<String> {
    let lines = envelope.body.lines().count();
    if lines == 0 {
        return None;
    }
    Some(match envelope.data.total() {
        Some(total) if total as usize > lines => format!("{} of {total}", text::plural(lines, "line")),
        _ => text::plural(lines, "line"),
    })
}

fn bash_summary(command: &Command, by_user: bool, body: &str) -> Option<String> {
    // Truncated output reports its full length.
    let lines = command.output_lines.map_or_else(|| body.lines().count(), |lines| lines as usize);
    let output = if lines == 0 { "no output".to_owned() } else { text::plural(lines, "line") };
    if command.timed_out == Some(true) {
        return Some(format!("timed out · {output}"));
    }
    match command.exit_code {
        Some(code) => Some(format!("exit {code} · {output}")),
        None => by_user.then_some(output),
    }
}

pub fn todo_list(result: &ToolResult) -> Option<Vec<Todo>> {
    let written = &*result.tool == "TodoWrite" && result.envelope.error.is_none();
    written.then(|| result.envelope.data.todos().unwrap_or_default().to_vec())
}

fn last_lines(body: &str, most: usize) -> Vec<&str> {
    let filled = body.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = filled.take(most).collect();
    lines.reverse();
    lines
}

fn first_line(text: &str) -> String {
    text::elide(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim(), 400)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::model::envelope::ErrorCode;

    #[test]
    fn a_long_outcome_is_cut_after_a_sentence() {
        let said = "a.rs has not been read yet. Nothing was written. Here it is, and it now counts as read.";
        assert_eq!(clip_after_sentence(said, 60), "a.rs has not been read yet. Nothing was written. …");
        assert_eq!(clip_after_sentence(said, 20), "a.rs has not been r…");
        assert_eq!(clip_after_sentence(said, 100), said);
    }

    #[test]
    fn each_outcome_is_one_line() {
        let of =
            |tool: &str, envelope: Envelope| outcome(&ToolResult::new("", tool, envelope).envelope).summary;
        assert_eq!(of("Read", Envelope::success("").with_body("content", "1\ta\n2\tb\n")), "2 lines");
        assert_eq!(
            of("Grep", Envelope::success("").with("total_matches", 3).with("total_files", 2)),
            "3 matches in 2 files"
        );
        assert_eq!(
            of("Bash", Envelope::success("").with("exit_code", 101).partial()),
            "exit 101 · no output"
        );
        assert_eq!(
            of(
                "Bash",
                Envelope::success("")
                    .with("exit_code", 0)
                    .with("output_lines", 5000)
                    .with_body("output", "1\n…")
            ),
            "exit 0 · 5000 lines"
        );
        assert_eq!(of("Edit", Envelope::success("").with("diff", "@@ -1 +1 @@\n-a\n+b\n+c\n")), "+2 -1");
        assert_eq!(of("Edit", Envelope::error(ErrorCode::NotFound, "no a.rs\nlong story")), "no a.rs");
        let denied =
            Envelope::error(ErrorCode::PermissionDenied, "the user said no. Do not try it another way");
        assert_eq!(of("Bash", denied.with("user_text", "Denied")), "Denied");
        assert_eq!(of("AskUser", Envelope::success("").with("replies", vec!["red", "no"])), "red · no");
        assert_eq!(of("Other", Envelope::success("did it")), "did it");
    }
}
