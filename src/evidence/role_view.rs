//! What each role of a build gets to see: only its part (SPEC §7).

use super::task_context::{TaskContext, capped};

/// Who asks.
#[derive(Clone, Debug)]
pub enum View<'a> {
    /// Structure and features.
    SpecWriter,
    /// The specification and the list of files.
    Planner { spec: &'a str },
    /// Everything, and the piece of work.
    Coder { subtask: &'a str },
    /// What changed, against the specification.
    Reviewer { spec: &'a str, changed: &'a [String] },
    /// The report and the files that fail.
    Fixer { report: &'a str, failing: &'a [String] },
}

/// The text for a role, at most `max_chars` characters.
pub fn view(context: &TaskContext, role: &View<'_>, max_chars: usize) -> String {
    let files = |title: &str, paths: &mut dyn Iterator<Item = &str>| {
        let list: String = paths.map(|path| format!("- {path}\n")).collect();
        if list.is_empty() { String::new() } else { format!("{title}:\n{list}") }
    };
    let text = match role {
        View::SpecWriter => {
            let services = files("Parts of the project", &mut context.services.iter().map(String::as_str));
            let habits = files("Habits there", &mut context.patterns.iter().map(String::as_str));
            format!("{services}{habits}")
        }
        View::Planner { spec } => {
            let modify = files("Likely to change", &mut context.modify.iter().map(|file| file.path.as_str()));
            let reference = files("To read", &mut context.reference.iter().map(|file| file.path.as_str()));
            format!("{spec}\n{modify}{reference}")
        }
        View::Coder { subtask } => format!("{subtask}\n{}", context.serialize(max_chars)),
        View::Reviewer { spec, changed } => {
            format!("{spec}\n{}", files("Changed", &mut changed.iter().map(String::as_str)))
        }
        View::Fixer { report, failing } => {
            format!("{report}\n{}", files("Failing", &mut failing.iter().map(String::as_str)))
        }
    };
    capped(text.trim_end(), max_chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::task_context::FileNote;

    #[test]
    fn each_role_sees_its_part() {
        let file = FileNote { path: "a.rs".into(), score: 1.0, reasons: Vec::new(), lines: Vec::new() };
        let context =
            TaskContext { modify: vec![file], services: vec!["shop".into()], ..TaskContext::default() };
        let see = |role: View<'_>| view(&context, &role, 500);
        assert_eq!(see(View::SpecWriter), "Parts of the project:\n- shop");
        assert_eq!(see(View::Planner { spec: "S" }), "S\nLikely to change:\n- a.rs");
        assert!(see(View::Coder { subtask: "T" }).starts_with("T\nLikely to change:\n- a.rs ("));
        let changed = ["b.rs".to_owned()];
        assert_eq!(see(View::Reviewer { spec: "S", changed: &changed }), "S\nChanged:\n- b.rs");
        assert_eq!(see(View::Fixer { report: "R", failing: &[] }), "R");
        assert_eq!(view(&context, &View::SpecWriter, 3).chars().count(), 3);
    }
}
