//! Where the parts of a patch belong in a file. Each comes after the previous one; whole lines are matched, like those of an
//! edit.

use super::parse::Chunk;
use crate::file::change::list_lines;
use crate::file::matching::lines::Lines;
use crate::file::matching::match_edit::{MatchLevel, TextEdit, find};
use crate::file::matching::{apply, diagnose};

#[derive(Debug, PartialEq)]
pub(crate) struct PlacedChunk {
    pub start: usize,
    pub end: usize,
    pub new: String,
    pub level: MatchLevel,
}

/// The parts in file order. The error names the part and says what to do.
pub(crate) fn place(text: &str, chunks: &[Chunk]) -> Result<Vec<PlacedChunk>, String> {
    let (mut placed, mut from): (Vec<PlacedChunk>, usize) = (Vec::new(), 0);
    for (number, chunk) in (1..).zip(chunks) {
        let one = place_one(text, from, chunk).and_then(|one| {
            let taken = placed.iter().any(|other| one.start < other.end && other.start < one.end);
            if taken { Err("its lines overlap those of another part".to_owned()) } else { Ok(one) }
        });
        let one = one.map_err(|why| match chunks.len() {
            1 => why,
            all => format!("part {number} of {all}: {why}"),
        })?;
        from = one.end;
        placed.push(one);
    }
    placed.sort_by_key(|one| one.start);
    Ok(placed)
}

pub(crate) fn spliced(text: &str, placed: &[PlacedChunk]) -> String {
    let (mut after, mut done) = (String::with_capacity(text.len()), 0);
    for one in placed {
        after.push_str(&text[done..one.start]);
        after.push_str(&one.new);
        done = one.end;
    }
    after.push_str(&text[done..]);
    after
}

fn place_one(text: &str, mut from: usize, chunk: &Chunk) -> Result<PlacedChunk, String> {
    let lines = Lines::new(text);
    for anchor in &chunk.anchors {
        from = after_anchor(&lines, from, anchor)
            .or_else(|| after_anchor(&lines, 0, anchor))
            .ok_or_else(|| format!("the line `{anchor}` after @@ was not found"))?;
    }
    if chunk.old.is_empty() {
        let at = if chunk.anchors.is_empty() || chunk.at_end { text.len() } else { from };
        let new = apply::with_ends_of(text, &chunk.new);
        let unended = at == text.len() && !text.is_empty() && !text.ends_with('\n');
        let new = if unended { format!("{}{new}", lines.ending_near(at)) } else { new };
        return Ok(PlacedChunk { start: at, end: at, new, level: MatchLevel::Exact });
    }
    let edit = TextEdit { old: &chunk.old, new: &chunk.new, replace_all: true };
    let (level, mut found) =
        find(&lines, edit.old, edit.replace_all).unwrap_or((MatchLevel::Exact, Vec::new()));
    found.retain(|found| lines.start(lines.line_of(found.start)) == found.start);
    if found.iter().any(|found| found.start >= from) {
        found.retain(|found| found.start >= from);
    }
    let one = match found.as_slice() {
        [] => {
            let there = diagnose::stands_at(text, edit.new);
            let there =
                there.map_or(String::new(), |line| format!(". The new lines are already at line {line}"));
            let why = diagnose::not_found(text, edit.old).replace("\nold_string line ", "\npatch line ");
            return Err(format!("its lines were not found: {why}{there}"));
        }
        [.., last] if chunk.at_end => *last,
        [one] => *one,
        [first, ..] if !chunk.anchors.is_empty() => *first,
        several => {
            let at: Vec<usize> = several.iter().map(|found| lines.line_of(found.start) + 1).collect();
            return Err(format!(
                "its lines occur at {}. Add surrounding lines until they are unique, or name the function or class above them \
                 after @@",
                list_lines(&at)
            ));
        }
    };
    let mut new = String::new();
    apply::replacement(&lines, one, edit, level, &mut new).map_err(|_| {
        let line = lines.line_of(one.start) + 1;
        format!("its indentation differs from line {line} of the file; copy it from there")
    })?;
    Ok(PlacedChunk { start: one.start, end: one.end, new, level })
}

/// The position after the first line that equals or else begins with the anchor.
fn after_anchor(lines: &Lines, from: usize, anchor: &str) -> Option<usize> {
    let after = |fits: &dyn Fn(&str) -> bool| {
        let mut all = (0..lines.count()).filter(|line| lines.start(*line) >= from);
        all.find(|line| fits(lines.content(*line).trim())).map(|line| lines.start(line + 1))
    };
    after(&|line| line == anchor).or_else(|| after(&|line| line.starts_with(anchor)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::parse::{FilePatch, parse};
    use super::*;

    const FILE: &str =
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\nend = 1\n";

    fn patched(file: &str, body: &str) -> Result<String, String> {
        let patch = format!("*** Begin Patch\n*** Update File: a.py\n{body}\n*** End Patch");
        let files = parse(&patch).unwrap();
        let [FilePatch::Update { chunks, .. }] = files.as_slice() else { panic!("{files:?}") };
        place(file, chunks).map(|placed| spliced(file, &placed))
    }

    #[test]
    fn an_anchor_says_which_of_equal_lines_is_meant() {
        let body = "-        return 1\n+        return 2";
        let said = patched(FILE, &format!("@@\n{body}")).unwrap_err();
        assert!(said.contains("lines 3, 6") && said.contains("after @@"), "{said}");
        let second = FILE.replacen("g(self):\n        return 1", "g(self):\n        return 2", 1);
        assert_eq!(patched(FILE, &format!("@@ def g(self):\n{body}")).unwrap(), second);
        assert_eq!(patched(FILE, &format!("@@ class A:\n@@     def g(self):\n{body}")).unwrap(), second);
        assert!(patched(FILE, &format!("@@ def h(self):\n{body}")).unwrap_err().contains("`def h(self):`"));
    }

    #[test]
    fn parts_are_placed_one_after_the_other() {
        let body = "@@\n     def f(self):\n-        return 1\n+        return 2\n@@\n     def g(self):\n-        return 1\n@@\n-end = 1\n+end = 2";
        let after = FILE.replacen("        return 1\n\n    def g", "        return 2\n\n    def g", 1);
        let after =
            after.replacen("g(self):\n        return 1\n", "g(self):\n", 1).replace("end = 1", "end = 2");
        assert_eq!(patched(FILE, body).unwrap(), after);
        let said = patched(FILE, "@@\n-class A:\n+class B:\n@@\n-missing\n+there").unwrap_err();
        assert!(said.starts_with("part 2 of 2: its lines were not found"), "{said}");
        let said = patched(FILE, "@@\n-end  = 1\n+end = 2").unwrap_err();
        assert!(said.contains("\npatch line 1: end··=·1"), "{said}");
        let said = patched(FILE, "@@\n-class A:\n+class B:\n@@\n-class A:\n+class C:").unwrap_err();
        assert!(said.contains("overlap"), "{said}");
    }

    #[test]
    fn line_ends_and_the_end_of_the_file_are_kept() {
        assert_eq!(patched("a\r\nb\r\n", "@@\n a\n-b\n+c\n+d").unwrap(), "a\r\nc\r\nd\r\n");
        assert_eq!(patched("a\nb", "@@\n-b\n+c").unwrap(), "a\nc");
        assert_eq!(patched("x\ny\nx\n", "@@\n-x\n+z\n*** End of File").unwrap(), "x\ny\nz\n");
        assert_eq!(patched("a\nb", "@@\n+c").unwrap(), "a\nb\nc\n");
        assert_eq!(patched("a\nb\n", "@@ a\n+c").unwrap(), "a\nc\nb\n");
        assert_eq!(patched("begone\ngone\n", "@@\n-gone\n+come").unwrap(), "begone\ncome\n");
        assert_eq!(patched("a\nb\n", "@@\n-a\n-b").unwrap(), "");
    }
}
