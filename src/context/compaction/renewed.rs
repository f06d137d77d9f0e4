//! Updates a view that stays while the edits after it leave: with its old lines, a model would edit text that is gone.
//! Applies the diffs in the log; if they don't fit, the view stays as it was sent, and no longer claims to be current. Pure.

use super::working_set;
use crate::history::entry::HistoryEntry;
use crate::session::record::FormName;
use base::model::item::Item;

const MARK: &str = "with your edits since]";
const OLD_MARK: &str = "before later changes]";

/// `view` updated up to the last of the `later` changes that leaves (flagged `true`); `None` if it stays as it is.
pub fn renewed<'a>(
    view: &HistoryEntry,
    later: impl Iterator<Item = (&'a HistoryEntry, bool)>,
) -> Option<String> {
    let is_text = view.form() == FormName::Full || is_renewed(view);
    let (path, Item::ToolResult(read)) = (working_set::viewed_path(&view.item)?, &*view.item) else {
        return None;
    };
    // What a command changed is not known.
    let mut changes: Vec<(Option<&str>, bool)> = Vec::new();
    for (entry, leaves) in later {
        let Item::ToolResult(result) = &*entry.item else { continue };
        let data = &result.envelope.data;
        if data.changed().iter().any(|changed| changed == path) {
            changes.push((None, leaves));
        } else if working_set::changed_path(&entry.item).is_some_and(|(changed, _)| changed == path) {
            changes.push((data.diff(), leaves));
        }
    }
    let last = changes.iter().rposition(|(_, leaves)| *leaves).filter(|_| is_text)?;
    let now = || {
        let mut from = working_set::range(&view.item).0;
        let mut lines = unnumbered(&read.envelope.body, from)?;
        changes[..=last].iter().try_for_each(|(diff, _)| patch(&mut lines, &mut from, (*diff)?))?;
        let to = from + (lines.len() as u64).checked_sub(1)?;
        let numbered: String =
            (from..).zip(lines).map(|(number, line)| format!("{number}\t{line}\n")).collect();
        Some(format!("{numbered}[lines {from}-{to} of {path} {MARK}"))
    };
    let no_longer = || Some(format!("{}{OLD_MARK}", view.text().strip_suffix(MARK)?));
    now().or_else(|| no_longer().filter(|_| is_renewed(view)))
}

pub fn is_renewed(view: &HistoryEntry) -> bool {
    view.form() == FormName::Filtered && view.text().ends_with(MARK)
}

/// The lines of an updated view, and whether it still has all changes.
pub fn range(text: &str) -> Option<((u64, u64), bool)> {
    let is_current = text.ends_with(MARK);
    if !is_current && !text.ends_with(OLD_MARK) {
        return None;
    }
    let from = text.split('\t').next()?.parse().ok()?;
    Some(((from, from + (text.lines().count() as u64).checked_sub(2)?), is_current))
}

fn unnumbered(body: &str, from: u64) -> Option<Vec<&str>> {
    let numbered = (from..).zip(body.lines());
    numbered.map(|(number, line)| line.strip_prefix(&*number.to_string())?.strip_prefix('\t')).collect()
}

fn patch<'a>(lines: &mut Vec<&'a str>, from: &mut u64, diff: &'a str) -> Option<()> {
    for hunk in diff.split("\n@@ -").skip(1) {
        let (head, body) = hunk.split_once('\n')?;
        let start: u64 = head.split_once('+')?.1.split([',', ' ']).next()?.parse().ok()?;
        let without = |sign: char| -> Option<Vec<&str>> {
            body.lines().filter(|line| !line.starts_with([sign, '\\'])).map(|line| line.get(1..)).collect()
        };
        let (old, new) = (without('+')?, without('-')?);
        let fits = (start..).zip(&old).all(|(number, line)| {
            let at = number.checked_sub(*from).and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| lines.get(at)).is_none_or(|shown| shown == line)
        });
        if !fits {
            return None;
        }
        let above = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let (old, new) = (&old[above..], &new[above..]);
        let below = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let (old, new) = (&old[..old.len() - below], &new[..new.len() - below]);
        let start = start + above as u64;
        if start + old.len() as u64 <= *from {
            *from = (*from + new.len() as u64).checked_sub(old.len() as u64)?;
        } else if start < *from + lines.len() as u64 {
            let at = usize::try_from(start.checked_sub(*from)?).ok()?;
            let changed = at..at + old.len();
            lines.get(changed.clone())?;
            lines.splice(changed, new.iter().copied());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use base::model::envelope::Envelope;
    use base::model::item::{ItemId, ToolResult};

    fn entry(id: u64, tool: &str, envelope: Envelope) -> HistoryEntry {
        let item = Item::ToolResult(ToolResult::new("c", tool, envelope));
        HistoryEntry::new(ItemId(id), Arc::new(item), None, 0)
    }

    fn view(lines: &[&str], from: u64) -> HistoryEntry {
        let body: String = (from..).zip(lines).map(|(number, line)| format!("{number}\t{line}\n")).collect();
        let to = from + lines.len() as u64 - 1;
        let read = Envelope::success("").with("path", "a.rs").with("start_line", from).with("end_line", to);
        entry(1, "Read", read.with_body("content", body))
    }

    fn edit(path: &str, hunks: &str) -> HistoryEntry {
        let diff = format!("--- a/{path}\n+++ b/{path}\n{hunks}");
        entry(2, "Edit", Envelope::success("").with("path", path).with("applied", true).with("diff", diff))
    }

    fn now(lines: &[&str], from: u64, edits: &[(HistoryEntry, bool)]) -> Option<String> {
        let later = edits.iter().map(|(edit, leaves)| (edit, *leaves));
        renewed(&view(lines, from), later)
    }

    #[test]
    fn a_view_is_renewed_by_the_edits_that_leave() {
        let mark = |lines: &str| format!("[lines {lines} of a.rs with your edits since]");
        let (above, inside) =
            (edit("a.rs", "@@ -1,2 +1,3 @@\n x\n+y\n z\n"), "@@ -12,2 +12,2 @@\n a\n-b\n+B\n");
        let edits = [(above, true), (edit("a.rs", inside), true), (edit("b.rs", inside), true)];
        let text = now(&["a", "b", "c"], 11, &edits);
        assert_eq!(
            text,
            Some(format!("12\ta\n13\tB\n14\tc\n{}", mark("12-14"))),
            "the file's present numbers"
        );
        let across = || edit("a.rs", "@@ -9,4 +9,3 @@\n x\n y\n-a\n b\n");
        let text = now(&["a", "b", "c"], 11, &[(across(), true)]);
        assert_eq!(text, Some(format!("11\tb\n12\tc\n{}", mark("11-12"))), "a hunk that begins above");
        assert_eq!(
            now(&["b", "c"], 12, &[(across(), true)]),
            Some(format!("11\tb\n12\tc\n{}", mark("11-12")))
        );
        let behind = edit("a.rs", "@@ -12,3 +12,3 @@\n b\n c\n-d\n+D\n");
        let text = now(&["a", "b", "c"], 11, &[(behind, true)]);
        assert_eq!(text, Some(format!("11\ta\n12\tb\n13\tc\n{}", mark("11-13"))));
    }

    #[test]
    fn what_is_not_known_exactly_stays_as_it_was_read() {
        let fits = || edit("a.rs", "@@ -11,1 +11,1 @@\n-a\n+A\n");
        assert_eq!(now(&["a"], 11, &[(fits(), false)]), None, "the edit can still be seen");
        assert_eq!(now(&["b"], 11, &[(fits(), true)]), None, "another line stood there");
        let inserts = edit("a.rs", "@@ -11,2 +11,3 @@\n x\n+y\n z\n");
        assert_eq!(now(&["a", "b"], 11, &[(inserts, true)]), None, "somebody else moved the lines");
        assert_eq!(
            now(
                &["a"],
                11,
                &[(edit("a.rs", "@@ -11,1 +11,3 @@\n-a\n+A\n… 2 more lines not shown (+2 -0)"), true)]
            ),
            None
        );
        let bash = serde_json::json!(["a.rs"]);
        let command =
            entry(3, "Bash", Envelope::success("").with("command", "sed -i …").with("changed", bash));
        let edits = [(fits(), true), (command.clone(), true)];
        assert_eq!(now(&["a"], 11, &edits), None, "a command changed it");
        let before = now(&["a"], 11, &[(fits(), true), (command, false)]).unwrap_or_default();
        assert_eq!(
            before, "11\tA\n[lines 11-11 of a.rs with your edits since]",
            "what it did can still be seen"
        );
        let mut sent = view(&["a"], 11);
        sent.set_form(FormName::Filtered, Some(&before.into()));
        let old = renewed(&sent, edits.iter().map(|(edit, leaves)| (edit, *leaves)));
        assert_eq!(old.as_deref(), Some("11\tA\n[lines 11-11 of a.rs before later changes]"));
    }
}
