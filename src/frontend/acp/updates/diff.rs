//! Splits a unified diff into the protocol's form: old and new text per hunk.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::Diff;

use base::format::diff_lines::{self, DiffLine};

#[derive(Debug, PartialEq)]
pub struct DiffPlace {
    pub diff: Diff,
    pub line: u32,
}

pub fn places(unified: &str, root: &Path) -> Vec<DiffPlace> {
    let (mut path, mut hunks) = (root.to_owned(), Vec::<Hunk>::new());
    for line in diff_lines::read(unified) {
        match line {
            DiffLine::Header(line) => {
                path = line.strip_prefix("+++ b/").map_or(path, |shown| root.join(shown));
            }
            DiffLine::Hunk(_) => hunks.push(Hunk { path: path.clone(), ..Hunk::default() }),
            DiffLine::Row { sign, old, new, text } => {
                let Some(hunk) = hunks.last_mut() else { continue };
                hunk.created |= old == 0;
                if sign != '+' {
                    hunk.old.extend([text, "\n"]);
                }
                if sign != '-' {
                    hunk.new.extend([text, "\n"]);
                }
                if sign != ' ' {
                    hunk.first_change.get_or_insert(new);
                }
            }
            DiffLine::Cut(..) => {}
        }
    }
    let place = |hunk: Hunk| {
        let diff = Diff::new(hunk.path, hunk.new).old_text((!hunk.created).then_some(hunk.old));
        DiffPlace {
            diff,
            line: hunk.first_change.and_then(|line| u32::try_from(line).ok()).unwrap_or(1).max(1),
        }
    };
    hunks.into_iter().map(place).collect()
}

#[derive(Default)]
struct Hunk {
    path: PathBuf,
    old: String,
    new: String,
    created: bool,
    first_change: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_diff() {
        let unified =
            "--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n@@ -9 +9,2 @@\n e\n+f\n";
        let found = places(unified, Path::new("/w"));
        let told: Vec<_> = found
            .iter()
            .map(|place| (place.diff.old_text.as_deref(), place.diff.new_text.as_str(), place.line))
            .collect();
        assert_eq!(told, [(Some("a\n-- b\nd\n"), "a\n++ c\nd\n", 2), (Some("e\n"), "e\nf\n", 10)]);
        assert!(found.iter().all(|place| place.diff.path == Path::new("/w/x.rs")));
        let created = places("--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+z\n", Path::new("/w"));
        assert_eq!((created[0].diff.old_text.as_deref(), created[0].line), (None, 1));
        assert_eq!(places("no diff", Path::new("/w")), []);
        let outside = places("--- a//etc/y\n+++ b//etc/y\n@@ -1 +1 @@\n-a\n+b\n", Path::new("/w"));
        assert_eq!(outside[0].diff.path, Path::new("/etc/y"));
    }
}
