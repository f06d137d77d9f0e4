//! Parses a patch in V4A form like openai/codex (`codex-rs/apply-patch/src/parser.rs`, November 2026).

use std::path::{Path, PathBuf};

use serde_json::Value;

#[derive(Debug, PartialEq)]
pub enum FilePatch {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, chunks: Vec<Chunk> },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// Lines above the change, outermost first, such as the class and the function.
    pub anchors: Vec<String>,
    pub old: String,
    pub new: String,
    pub at_end: bool,
}

const HEADERS: &str = "*** Add File: PATH, *** Delete File: PATH or *** Update File: PATH";

impl FilePatch {
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, to, .. } => (path, to.as_deref()),
        };
        [Some(path.as_str()), to].into_iter().flatten()
    }
}

/// All files of an edit's patch, including its base folder; empty without a patch.
pub fn paths_in(args: &Value) -> Vec<PathBuf> {
    let files = args["patch"].as_str().and_then(|patch| parse(patch).ok()).unwrap_or_default();
    let folder = Path::new(args["directory"].as_str().unwrap_or_default());
    let mut paths: Vec<PathBuf> =
        files.iter().flat_map(FilePatch::paths).map(|path| folder.join(path)).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The error tells the model what is wrong with the patch.
pub fn parse(patch: &str) -> Result<Vec<FilePatch>, String> {
    let patch = patch.trim();
    let lines: Vec<&str> = patch.lines().collect();
    let is = |line: Option<&&str>, mark: &str| line.is_some_and(|line| line.trim() == mark);
    if !is(lines.first(), "*** Begin Patch") {
        return Err("its first line must be *** Begin Patch".to_owned());
    }
    if !is(lines.last(), "*** End Patch") {
        return Err("its last line must be *** End Patch, so it may be incomplete".to_owned());
    }
    let mut reader = Reader { lines: &lines[..lines.len() - 1], at: 1 };
    let mut files = Vec::new();
    while let Some(line) = reader.next() {
        if line.trim().is_empty() {
            continue;
        }
        match reader.file(line.trim())? {
            FilePatch::Update { path, to: None, chunks } => match same_file(&mut files, &path) {
                Some(all) => all.extend(chunks),
                None => files.push(FilePatch::Update { path, to: None, chunks }),
            },
            file => files.push(file),
        }
    }
    if files.is_empty() { Err("it names no file".to_owned()) } else { Ok(files) }
}

/// The parts of an earlier update of this file.
fn same_file<'f>(files: &'f mut [FilePatch], wanted: &str) -> Option<&'f mut Vec<Chunk>> {
    files.iter_mut().find_map(|file| match file {
        FilePatch::Update { path, to: None, chunks } if path == wanted => Some(chunks),
        _ => None,
    })
}

struct Reader<'p> {
    lines: &'p [&'p str],
    at: usize,
}

impl<'p> Reader<'p> {
    fn peek(&self) -> Option<&'p str> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'p str> {
        let line = self.peek();
        self.at += 1;
        line
    }

    fn next_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'p str> {
        self.peek().filter(|line| wanted(line)).inspect(|_| self.at += 1)
    }

    fn wrong<T>(&self, line: &str, why: &str) -> Result<T, String> {
        Err(format!("line {} (`{line}`) {why}", self.at))
    }

    fn file(&mut self, header: &str) -> Result<FilePatch, String> {
        if let Some(path) = header.strip_prefix("*** Add File: ") {
            let mut content = String::new();
            while let Some(line) = self.next_if(|line| line.starts_with('+')) {
                content.push_str(&line[1..]);
                content.push('\n');
            }
            return match self.peek() {
                Some(line) if !line.starts_with("*** ") && !line.trim().is_empty() => {
                    self.at += 1;
                    self.wrong(line, "must begin with +, like each line of a new file")
                }
                _ => Ok(FilePatch::Add { path: path.trim().to_owned(), content }),
            };
        }
        if let Some(path) = header.strip_prefix("*** Delete File: ") {
            return Ok(FilePatch::Delete { path: path.trim().to_owned() });
        }
        let Some(path) = header.strip_prefix("*** Update File: ") else {
            return self.wrong(header, &format!("must be {HEADERS}"));
        };
        let to = self.next_if(|line| line.starts_with("*** Move to: "));
        let to = to.and_then(|line| line.strip_prefix("*** Move to: ")).map(|to| to.trim().to_owned());
        let mut chunks = Vec::new();
        while let Some(line) = self.peek() {
            if line.trim().is_empty() {
                self.at += 1;
            } else if line.starts_with("*** ") {
                break;
            } else {
                chunks.push(self.chunk()?);
            }
        }
        if chunks.is_empty() && to.is_none() {
            return self.wrong(header, "is followed by no change");
        }
        Ok(FilePatch::Update { path: path.trim().to_owned(), to, chunks })
    }

    fn chunk(&mut self) -> Result<Chunk, String> {
        let mut chunk = Chunk::default();
        while let Some(line) = self.next_if(|line| line.starts_with("@@")) {
            let anchor = line.trim_start_matches("@@").trim_end().trim_end_matches("@@");
            // The line numbers of unified diffs are ignored.
            if !anchor.trim().is_empty() && !anchor.trim_start().starts_with("-") {
                chunk.anchors.push(anchor.trim().to_owned());
            }
        }
        let (mut old, mut new): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut blank = 0;
        while let Some(line) = self.next_if(|line| !line.starts_with("@@") && !line.starts_with("*** ")) {
            let rest = line.get(1..).unwrap_or_default();
            blank = if line.is_empty() { blank + 1 } else { 0 };
            match line.chars().next() {
                None | Some(' ') => {
                    old.push(rest);
                    new.push(rest);
                }
                Some('-') => old.push(rest),
                Some('+') => new.push(rest),
                _ => {
                    return self.wrong(line, "must begin with a space (unchanged), - (removed) or + (added)");
                }
            }
        }
        // Empty lines before the next mark only separate chunks.
        old.truncate(old.len() - blank);
        new.truncate(new.len() - blank);
        chunk.at_end = self.next_if(|line| line.trim_end() == "*** End of File").is_some();
        if old == new {
            return self.wrong(self.lines[self.at - 1], "ends a part that changes nothing");
        }
        let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        (chunk.old, chunk.new) = (joined(&old), joined(&new));
        Ok(chunk)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_read() {
        let patch = "*** Begin Patch\n*** Add File: a b.py\n+x = 1\n+\n*** Delete File: old.py\n*** Update File: c.py\n\
            *** Move to: d.py\n@@ class A:\n@@     def f():\n context\n-gone\n+come\n\n@@\n-last\n+end\n*** End of File\n*** End Patch";
        let chunk = |anchors: &[&str], old: &str, new: &str, at_end| Chunk {
            anchors: anchors.iter().map(|anchor| (*anchor).to_owned()).collect(),
            old: old.to_owned(),
            new: new.to_owned(),
            at_end,
        };
        assert_eq!(
            parse(patch).unwrap(),
            [
                FilePatch::Add { path: "a b.py".to_owned(), content: "x = 1\n\n".to_owned() },
                FilePatch::Delete { path: "old.py".to_owned() },
                FilePatch::Update {
                    path: "c.py".to_owned(),
                    to: Some("d.py".to_owned()),
                    chunks: vec![
                        chunk(&["class A:", "def f():"], "context\ngone\n", "context\ncome\n", false),
                        chunk(&[], "last\n", "end\n", true),
                    ],
                },
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (patch, why) in [
            ("diff --git a b", "first line must be *** Begin Patch"),
            ("*** Begin Patch\n*** Delete File: a", "last line must be *** End Patch"),
            ("*** Begin Patch\n*** End Patch", "names no file"),
            (
                "*** Begin Patch\n*** Change File: a\n*** End Patch",
                "line 2 (`*** Change File: a`) must be *** Add File",
            ),
            ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 (`x`) must begin with +"),
            ("*** Begin Patch\n*** Update File: a\n*** End Patch", "is followed by no change"),
            ("*** Begin Patch\n*** Update File: a\n@@\n same\n*** End Patch", "changes nothing"),
            (
                "*** Begin Patch\n*** Update File: a\n@@\n-x\ny\n*** End Patch",
                "line 5 (`y`) must begin with a space",
            ),
        ] {
            let said = parse(patch).unwrap_err();
            assert!(said.contains(why), "{patch}: {said}");
        }
    }
}
