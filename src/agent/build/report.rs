//! The build report: what was asked, what was done, and what it cost.

use std::time::Duration;

use super::changes;
use super::plan;
use super::review;
use super::state::{Build, Outcome};
use base::text::{human_tokens, one_line, plural};

pub fn text(build: &Build, outcome: Outcome, message: &str, took: Duration) -> String {
    let task = build.folder.read("task.md").unwrap_or_default();
    let mut out = format!("# Build {}: {}\n\n{message}\n\n", build.id, outcome.as_str().replace('_', " "));
    out.push_str(&format!("**Task:** {}\n", one_line(&task, 400)));
    let subtasks = plan::subtasks(&build.folder.read("plan.md").unwrap_or_default());
    if !subtasks.is_empty() {
        let done = subtasks.iter().filter(|subtask| subtask.done).count();
        out.push_str(&format!("\n## Subtasks: {done} of {} done\n", subtasks.len()));
    }
    for subtask in &subtasks {
        let mark = if subtask.done { 'x' } else { ' ' };
        out.push_str(&format!("- [{mark}] {}. {}\n", subtask.number, one_line(&subtask.text, 200)));
    }
    if let Some(checks) = &build.checks {
        out.push_str("\n## Checks\n");
        checks.iter().for_each(|check| out.push_str(&format!("- {}\n", check.line())));
        if checks.is_empty() {
            out.push_str("No check found in this project.\n");
        }
    }
    if let Some((file, review)) = review::last(build) {
        out.push_str(&format!("\n## Review ({})\n{}\n", build.folder.path(&file), review.trim()));
    }
    let changed = changes::all(build.cx());
    if !changed.is_empty() {
        out.push_str(&format!("\n## {} changed\n", plural(changed.len(), "file")));
        changed.keys().for_each(|path| out.push_str(&format!("- {path}\n")));
    }
    let window = build.roles.session.conversation.usage.window(0, 0);
    let cost = window.cost_usd.map_or(String::new(), |cost| format!(", ${cost:.2}"));
    let spent = match window.total.total() {
        0 => String::new(),
        all => {
            format!(
                "{} tokens ({} of them cached){cost}. ",
                human_tokens(all),
                human_tokens(window.total.cached)
            )
        }
    };
    out.push_str(&format!(
        "\n{spent}This run took {} s. `mycode rewind {}` undoes a subtask.\n",
        took.as_secs(),
        build.id
    ));
    out
}
