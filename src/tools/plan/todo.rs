//! TodoWrite: the model's own plan. Each call sends the full list.

use serde::Deserialize;

use super::todo_board::recap;
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Todo, TodoStatus, Todos};
use base::text;
use guard::redact::detector::TextSource;

#[derive(Deserialize)]
pub struct Args {
    #[serde(default)]
    summary: String,
    todos: Vec<Todo>,
}

pub struct TodoWrite;

impl TypedTool for TodoWrite {
    type Args = Args;
    const NAME: &'static str = "TodoWrite";
    const ARGUMENTS: &'static str =
        "todos [content, status pending|in_progress|completed|cancelled], summary?";
    const WORK: ToolWork<Args> = ToolWork::Blocking(replace);

    fn title(args: &Args) -> String {
        match text::one_line(&args.summary, 80) {
            summary if summary.is_empty() => format!("TodoWrite {}", text::plural(args.todos.len(), "item")),
            summary => format!("TodoWrite {summary}"),
        }
    }
}

fn replace(args: &Args, cx: &ToolCx) -> ToolOutcome {
    let active = args.todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
    if active > 1 {
        return Err(ToolError::invalid(format!(
            "{active} todos are in_progress; at most one may be. The list is unchanged"
        )));
    }
    if args.todos.iter().any(|todo| todo.content.trim().is_empty()) {
        return Err(ToolError::invalid("a todo has empty content. The list is unchanged"));
    }
    let clean = |todo: &Todo| {
        let content = cx.redactor.redact(&todo.content, TextSource::Text).into_owned();
        Todo { content, ..todo.clone() }
    };
    let todos: Vec<Todo> = args.todos.iter().map(clean).collect();
    let line = recap(&todos).unwrap_or_else(|| "All todos are closed.".to_owned());
    cx.todos.set(todos.clone());
    let written = Todos { todos: Some(todos), recap: Some(line) };
    Ok(Envelope::success("ok").observed(Observation::Todos(written)))
}
