//! TodoWrite: the model's own plan. The whole list is sent each time.

use serde::Deserialize;
use serde_json::{Value, json};

use super::todo_board::{Todo, TodoStatus, recap};
use crate::base::text;
use crate::config::prompts;
use crate::model::envelope::Envelope;
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;

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
            summary if summary.is_empty() => format!("TodoWrite {}", text::plural(args.todos.len(), "item")),
            summary => format!("TodoWrite {summary}"),
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
