//! The hunks in which a file differs from its earlier text, and reverting one of them.

use similar::{DiffOp, DiffTag, TextDiff};

use super::record::PathState;

/// Comparing larger texts would take seconds.
const MOST_BYTES: usize = 512 * 1024;
const CONTEXT: usize = 3;

/// Unified diffs of the hunks, in order; `None` for binary or too large contents.
pub fn of(path: &str, before: &[u8], now: &[u8]) -> Option<Vec<String>> {
    let (before, now) = texts(before, now)?;
    let diff = TextDiff::from_lines(before, now);
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(CONTEXT).iter_hunks();
    Some(hunks.map(|hunk| format!("--- a/{path}\n+++ b/{path}\n{hunk}")).collect())
}

/// A diff of [`of`] in git's format, where a new or deleted file has a mode instead of the other side.
pub fn patch(diff: &str, path: &str, before: &PathState, now: &PathState) -> String {
    let head = format!("--- a/{path}\n+++ b/{path}\n");
    let body = diff.strip_prefix(&head).unwrap_or(diff);
    let git = format!("diff --git a/{path} b/{path}\n");
    let head = match (before, now) {
        (PathState::Absent, now) => {
            format!("{git}new file mode {}\n--- /dev/null\n+++ b/{path}\n", git_mode(now))
        }
        (before, PathState::Absent) => {
            format!("{git}deleted file mode {}\n--- a/{path}\n+++ /dev/null\n", git_mode(before))
        }
        _ => head,
    };
    format!("{head}{body}")
}

fn git_mode(state: &PathState) -> &'static str {
    match state {
        PathState::File { mode, .. } if mode & 0o111 != 0 => "100755",
        _ => "100644",
    }
}

pub fn reverted(before: &[u8], now: &[u8], hunk: usize) -> Option<Vec<u8>> {
    let (before, now) = texts(before, now)?;
    let diff = TextDiff::from_lines(before, now);
    let groups = diff.grouped_ops(CONTEXT);
    let back: Vec<&DiffOp> = groups.get(hunk)?.iter().filter(|op| op.tag() != DiffTag::Equal).collect();
    let mut text = String::with_capacity(now.len());
    for op in diff.ops() {
        if back.contains(&op) {
            op.old_range().filter_map(|line| diff.old_slice(line)).for_each(|line| text.push_str(line));
        } else {
            op.new_range().filter_map(|line| diff.new_slice(line)).for_each(|line| text.push_str(line));
        }
    }
    Some(text.into_bytes())
}

fn texts<'a>(before: &'a [u8], now: &'a [u8]) -> Option<(&'a str, &'a str)> {
    let small = before.len() <= MOST_BYTES && now.len() <= MOST_BYTES;
    let text = |bytes: &'a [u8]| std::str::from_utf8(bytes).ok().filter(|text| small && !text.contains('\0'));
    Some((text(before)?, text(now)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_place_goes_back() {
        let before: String = (0..30).map(|n| format!("line {n}\r\n")).collect();
        let now = before.replace("line 3\r\n", "changed 3\r\n").replace("line 20\r\n", "");
        let hunks = of("a.txt", before.as_bytes(), now.as_bytes()).unwrap();
        assert_eq!(hunks.len(), 2);
        assert!(hunks[0].starts_with("--- a/a.txt\n+++ b/a.txt\n@@ -1,7 +1,7 @@"), "{}", hunks[0]);
        let back = reverted(before.as_bytes(), now.as_bytes(), 1).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), before.replace("line 3\r\n", "changed 3\r\n"));
        assert_eq!(reverted(before.as_bytes(), now.as_bytes(), 2), None);
        assert_eq!(of("a", b"\xff", b"a"), None);
    }

    #[test]
    fn a_program_stays_one_in_the_index() {
        let script = PathState::File { hash: String::new(), size: 3, mode: 0o100_755 };
        let diff = of("run", b"", b"ls\n").unwrap().remove(0);
        let staged = patch(&diff, "run", &PathState::Absent, &script);
        assert!(staged.contains("\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@"), "{staged}");
        assert!(patch(&diff, "run", &script, &PathState::Absent).contains("deleted file mode 100755"));
    }

    proptest! {
        /// Reverting hunk after hunk gives the earlier text.
        #[test]
        fn all_places_make_the_whole(before in "([a-c]{0,2}\n){0,40}[a-c]?", now in "([a-c]{0,2}\n){0,40}[a-c]?") {
            let mut text = now.into_bytes();
            for _ in 0..50 {
                text = reverted(before.as_bytes(), &text, 0).unwrap_or(text);
            }
            prop_assert_eq!(String::from_utf8(text).unwrap(), before);
        }
    }
}
