//! The todo list and its recap (layer L5).

use base::model::observation::{Todo, TodoStatus};
use base::text;
use parking_lot::Mutex;

const RECAP_CHARS: usize = 300;

#[derive(Debug, Default)]
pub struct TodoBoard(Mutex<Vec<Todo>>);

impl TodoBoard {
    pub fn set(&self, todos: Vec<Todo>) {
        *self.0.lock() = todos;
    }

    pub fn get(&self) -> Vec<Todo> {
        self.0.lock().clone()
    }
}

/// Such as `[2/5] In progress: … Pending: …; …`, at most 300 characters; `None` if nothing is open.
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
