//! Splits a unified diff into the protocol's form: old and new text per hunk.

use std::path::Path;

use agent_client_protocol_schema::v1::Diff;

#[derive(Debug, PartialEq)]
pub struct Place {
    pub diff: Diff,
    pub line: u32,
}

pub fn places(unified: &str, root: &Path) -> Vec<Place> {
    let mut places = Vec::new();
    let mut path = root.to_owned();
    let mut hunk: Option<Hunk> = None;
    for line in unified.lines() {
        // Inside a hunk, lines are counted: a removed line may look like a header.
        if let Some(open) = &mut hunk
            && open.takes(line)
        {
            continue;
        }
        places.extend(hunk.take().map(|hunk| hunk.place(&path)));
        if let Some(shown) = line.strip_prefix("+++ b/") {
            path = root.join(shown);
        }
        hunk = Hunk::begin(line);
    }
    places.extend(hunk.map(|hunk| hunk.place(&path)));
    places
}

#[derive(Default)]
struct Hunk {
    old: String,
    new: String,
    old_left: usize,
    new_left: usize,
    created: bool,
    next: u32,
    first_change: Option<u32>,
}

impl Hunk {
    fn begin(line: &str) -> Option<Self> {
        let mut ranges = line.strip_prefix("@@ -")?.split([' ', '+']).filter(|part| !part.is_empty());
        let (_, old_left) = range(ranges.next()?)?;
        let (next, new_left) = range(ranges.next()?)?;
        let created = line.starts_with("@@ -0,0 ");
        Some(Self { old_left, new_left, created, next, ..Self::default() })
    }

    fn takes(&mut self, line: &str) -> bool {
        // Some programs omit the space of an empty line.
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        match sign {
            " " if self.old_left > 0 && self.new_left > 0 => {
                (self.old_left, self.new_left) = (self.old_left - 1, self.new_left - 1);
                push(&mut self.old, text);
                push(&mut self.new, text);
                self.next += 1;
            }
            "-" if self.old_left > 0 => {
                self.old_left -= 1;
                push(&mut self.old, text);
                self.first_change.get_or_insert(self.next);
            }
            "+" if self.new_left > 0 => {
                self.new_left -= 1;
                push(&mut self.new, text);
                self.first_change.get_or_insert(self.next);
                self.next += 1;
            }
            // "\ No newline at end of file".
            "\\" => {}
            _ => return false,
        }
        true
    }

    fn place(self, path: &Path) -> Place {
        let diff = Diff::new(path, self.new).old_text((!self.created).then_some(self.old));
        Place { diff, line: self.first_change.unwrap_or(self.next).max(1) }
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn range(text: &str) -> Option<(u32, usize)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
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
