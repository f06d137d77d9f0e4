//! TodoWrite: the model's own plan. The whole list is sent each time; the recap (layer L5) is made here.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::text;
use crate::config::prompts;
use crate::model::envelope::Envelope;
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;

/// Longest recap, in characters (SPEC §9).
const RECAP_CHARS: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
}

/// The current list, shared by the calls of a session.
#[derive(Debug, Default)]
pub struct TodoBoard(Mutex<Vec<Todo>>);

impl TodoBoard {
    /// Replaces the list.
    pub fn set(&self, todos: Vec<Todo>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = todos;
    }

    /// A copy of the list.
    pub fn get(&self) -> Vec<Todo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// `[2/5] In progress: … Pending: …; …`, at most 300 characters; `None` when nothing is open.
pub fn recap(todos: &[Todo]) -> Option<String> {
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let of = |status| {
        todos
            .iter()
            .filter(|todo| todo.status == status)
            .map(|todo| text::one_line(&todo.content, 120))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let open = count(TodoStatus::Pending) + count(TodoStatus::InProgress);
    if open == 0 {
        return None;
    }
    let total = todos.len() - count(TodoStatus::Cancelled);
    let mut line = format!("[{}/{total}]", count(TodoStatus::Completed));
    for (label, status) in [(" In progress: ", TodoStatus::InProgress), (" Pending: ", TodoStatus::Pending)] {
        let names = of(status);
        if !names.is_empty() {
            line.push_str(label);
            line.push_str(&names);
            line.push('.');
        }
    }
    Some(text::elide(&line, RECAP_CHARS))
}

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

    fn description(&self) -> &'static str {
        prompts::TOOL_TODO_WRITE
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "summary": {"type": "string"},
                "todos": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"enum": ["pending", "in_progress", "completed", "cancelled"]}
                    },
                    "required": ["content", "status"]
                }}
            },
            "required": ["todos"]
        })
    }

    fn access(&self, _: &Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn title(&self, args: &Args) -> String {
        match text::one_line(&args.summary, 80) {
            summary if summary.is_empty() => format!("Todo {}", text::plural(args.todos.len(), "item")),
            summary => format!("Todo {summary}"),
        }
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        let active = args.todos.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
        if active > 1 {
            return Err(ToolError::invalid(format!(
                "{active} todos are in_progress; at most one may be. The list was not changed"
            )));
        }
        if args.todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(ToolError::invalid("a todo has empty content. The list was not changed"));
        }
        let line = recap(&args.todos).unwrap_or_else(|| "All todos are closed.".to_owned());
        let list = json!(args.todos);
        cx.todos.set(args.todos);
        Ok(Envelope::success("ok").with("todos", list).with("recap", line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(content: &str, status: TodoStatus) -> Todo {
        Todo { content: content.to_owned(), status }
    }

    #[test]
    fn recap_counts_and_names() {
        let todos = [
            todo("find the bug", TodoStatus::Completed),
            todo("fix it", TodoStatus::InProgress),
            todo("run tests", TodoStatus::Pending),
            todo("write docs", TodoStatus::Cancelled),
        ];
        assert_eq!(recap(&todos).as_deref(), Some("[1/3] In progress: fix it. Pending: run tests."));
        assert_eq!(recap(&todos[..1]), None);
        assert_eq!(recap(&[]), None);
    }

    #[test]
    fn recap_is_bounded() {
        let todos: Vec<Todo> =
            (0..100).map(|n| todo(&format!("步骤 {n} with a long name"), TodoStatus::Pending)).collect();
        assert!(recap(&todos).unwrap_or_default().chars().count() <= 300);
    }
}
