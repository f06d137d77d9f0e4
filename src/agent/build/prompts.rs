//! The prompts of the build's roles; each gets only the information it needs.

use super::plan::Subtask;
use crate::qa::reviewer as qa;
use base::text;

pub fn spec(task: &str) -> String {
    qa::prompt(&[("Task", task)])
}

pub const SPEC_AGAIN: &str =
    "\n\nYour answer has no title. Answer with the whole specification, beginning with `# `.";

pub fn plan(wanted: [(&str, &str); 2], files: &str) -> String {
    let [spec, task] = wanted;
    qa::prompt(&[spec, task, ("Files that seem to matter", files)])
}

pub const PLAN_AGAIN: &str = "Your answer has no line of the form `- [ ] 1. …`. Answer with the whole plan again, one such line for each subtask.";

/// `doubts` are about the files named in the subtask.
pub fn code(
    spec: &str,
    plan: &str,
    context: &str,
    (subtask, doubts): (&Subtask, &str),
    before: &[(usize, String)],
) -> String {
    let before: Vec<String> =
        before.iter().map(|(number, said)| format!("{number}: {}", text::one_line(said, 1_500))).collect();
    qa::prompt(&[
        ("Your subtask", &format!("{}. {}", subtask.number, subtask.text)),
        ("Check these paths first", doubts),
        ("What the subtasks before it say", &before.join("\n")),
        ("Specification", spec),
        ("The whole plan", plan),
        ("Files that seem to matter", context),
    ])
}

pub const NOT_DONE: &str = "\n\n## Not done yet\nAnother coder answered, but changed no file and ran no check, so the subtask doesn't count as \
                            done. Carry it out now. If it needs no change, run a command that proves it.";

/// `problems` were found by the program itself.
pub fn fix(review: &str, problems: &[String], checks: &str, files: &[String]) -> String {
    let problems: Vec<String> = problems.iter().map(|problem| format!("- [ ] {problem}")).collect();
    let failed = if problems.is_empty() { "" } else { checks };
    qa::prompt(&[
        ("Review", review),
        ("Why this doesn't count as passed", &problems.join("\n")),
        ("The project's own checks", failed),
        ("Files that it names", &files.join("\n")),
    ])
}

/// `last` is the last work on the branch.
pub fn merge(last: &str, files: &[String]) -> String {
    let task = format!(
        "Two pieces of work were done side by side, and their changes conflict. Resolve the conflict marks in the files below so that both changes work, then check that the project still works. The one that is merged last: {last}"
    );
    qa::prompt(&[("Task", &task), ("Files with conflict marks", &files.join("\n"))])
}

pub const GO_ON: &str =
    "You were interrupted. Look at what is done already, finish your part, and answer as you were asked to.";
