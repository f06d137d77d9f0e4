//! The places at which a file differs from what it was, and its text with one of them put back.

use similar::{DiffOp, DiffTag, TextDiff};

/// Larger texts are not compared: it would take seconds.
const MOST_BYTES: usize = 512 * 1024;
/// Lines around a place.
const CONTEXT: usize = 3;

/// Unified diffs of the places, oldest text first, under the file's name; `None` for what is no text or too large.
pub fn of(path: &str, before: &[u8], now: &[u8]) -> Option<Vec<String>> {
    let (before, now) = texts(before, now)?;
    let diff = TextDiff::from_lines(before, now);
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(CONTEXT).iter_hunks();
    Some(hunks.map(|hunk| format!("--- a/{path}\n+++ b/{path}\n{hunk}")).collect())
}

/// A diff of [`of`] as git takes it: a file that is new or gone has no other side.
pub fn patch(diff: &str, path: &str, is_new: bool, is_gone: bool) -> String {
    let head = format!("--- a/{path}\n+++ b/{path}\n");
    let body = diff.strip_prefix(&head).unwrap_or(diff);
    let head = match (is_new, is_gone) {
        (true, _) => {
            format!("diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n")
        }
        (_, true) => {
            format!("diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n")
        }
        _ => head,
    };
    format!("{head}{body}")
}

/// `now` with the place number `hunk` as it was before.
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

    proptest! {
        /// Place after place put back gives the text from before.
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
