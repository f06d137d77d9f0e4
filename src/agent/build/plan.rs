//! Parses and updates a plan file: a Markdown list with checkboxes. Text between the items is left alone.

use base::pattern::Pattern;

static SUBTASK: Pattern = Pattern::new(r"^\s*[-*+] \[([ xX])\]\s+(?:(\d+)[.):]\s+)?(.*\S)");
static AFTER: Pattern = Pattern::new(r"(?i)\(\s*after:?\s*([^)]*)\)");
static FILES: Pattern = Pattern::new(r"(?i)\(\s*files:?\s*([^)]*)\)");
static REMARK: Pattern = Pattern::new(r"(?i)\(\s*(files|after)\b");
static NUMBER: Pattern = Pattern::new(r"\d+");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtask {
    /// The plan's number, or else its position.
    pub number: usize,
    pub done: bool,
    pub text: String,
    pub after: Vec<usize>,
    line: usize,
}

impl Subtask {
    /// The text without its files and predecessors.
    pub fn title(&self) -> &str {
        let end = REMARK.find(&self.text).map_or(self.text.len(), |remark| remark.start());
        self.text[..end].trim()
    }

    pub fn files(&self) -> Vec<String> {
        let files = FILES.captures(&self.text).and_then(|parts| parts.get(1));
        let files = files.map_or("", |files| files.as_str()).split(',');
        files.map(|file| file.trim().trim_matches('`').to_owned()).filter(|file| !file.is_empty()).collect()
    }
}

pub fn subtasks(plan: &str) -> Vec<Subtask> {
    let mut found: Vec<Subtask> = Vec::new();
    let mut indent = 0;
    for (line, text) in plan.lines().enumerate() {
        let Some(parts) = SUBTASK.captures(text) else { continue };
        let own = text.len() - text.trim_start().len();
        if found.is_empty() {
            indent = own;
        }
        // A checkbox that is indented further is part of the subtask above.
        if own > indent {
            continue;
        }
        let text = parts.get(3).map_or("", |text| text.as_str());
        let place = found.len() + 1;
        let number = parts.get(2).and_then(|number| number.as_str().parse().ok()).unwrap_or(place);
        let after = AFTER.captures(text).and_then(|parts| parts.get(1)).map_or("", |after| after.as_str());
        found.push(Subtask {
            // With a duplicate number, the wrong box would be checked.
            number: if found.iter().any(|other| other.number == number) { place + 1_000 } else { number },
            done: parts.get(1).is_some_and(|mark| mark.as_str() != " "),
            text: text.to_owned(),
            after: NUMBER.find_iter(after).filter_map(|number| number.as_str().parse().ok()).collect(),
            line,
        });
    }
    found
}

pub fn ticked(plan: &str, number: usize) -> String {
    let line =
        subtasks(plan).into_iter().find(|subtask| subtask.number == number).map(|subtask| subtask.line);
    let mut lines: Vec<String> = plan.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(text) = line.and_then(|line| lines.get_mut(line)) {
        *text = text.replacen("[ ]", "[x]", 1);
    }
    lines.concat()
}

/// The open subtasks whose predecessors are done or `given_up`; the first open one if they all wait for each other.
pub fn ready(subtasks: &[Subtask], given_up: impl Fn(usize) -> bool) -> Vec<&Subtask> {
    let is_open = |subtask: &&Subtask| !subtask.done && !given_up(subtask.number);
    let waits = |number: &usize| subtasks.iter().filter(is_open).any(|other| other.number == *number);
    let open = subtasks.iter().filter(is_open);
    let ready: Vec<&Subtask> = open.clone().filter(|subtask| !subtask.after.iter().any(waits)).collect();
    if ready.is_empty() { open.take(1).collect() } else { ready }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Plan\n\nSome words.\n\n- [x] 1. Read it (files: a.rs)\n- [ ] 2. Write it (after: 1)\n  - [ ] a part\n\
                        * [ ] 3) Check it (files: b.rs) (After 1, 2)\nEnd.\n";

    #[test]
    fn boxes_become_subtasks() {
        let found = subtasks(PLAN);
        let shown: Vec<_> = found.iter().map(|one| (one.number, one.done, one.after.clone())).collect();
        assert_eq!(shown, [(1, true, vec![]), (2, false, vec![1]), (3, false, vec![1, 2])]);
        assert_eq!((found[1].text.as_str(), found[1].title()), ("Write it (after: 1)", "Write it"));
        assert_eq!(subtasks("- [ ] x (files: `a b.rs`, c/d.rs) (after: 1)")[0].files(), ["a b.rs", "c/d.rs"]);
        assert_eq!(subtasks("1. Code\n   - [ ] 1. a\n     - [ ] a part\n   - [ ] 2. b\n").len(), 2);
        assert_eq!(ready(&found, |_| false).iter().map(|one| one.number).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn ticking_changes_one_box() {
        let after = ticked(PLAN, 3);
        assert_eq!(after, PLAN.replace("* [ ] 3)", "* [x] 3)"));
        assert_eq!(ticked(PLAN, 9), PLAN);
    }

    #[test]
    fn circles_and_unnumbered_plans_go_on() {
        let found = subtasks("- [ ] one (after: 2)\n- [ ] two (after: 1)\n");
        assert_eq!(ready(&found, |_| false)[0].number, 1);
        assert_eq!(
            subtasks("- [ ] 1. a\n- [ ] 1. b\n").iter().map(|one| one.number).collect::<Vec<_>>(),
            [1, 1_002]
        );
    }
}
