//! An overview for read-only modes: the project's structure, or its size and unfinished work. Bounded.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use base::file;
use base::pattern::Pattern;
use base::search::walk::{self, Walk};
use base::text::{one_line, plural};

const MAX_FILES: usize = 50_000;
const DEPTH: usize = 3;
/// A larger file is generated or data, so counting its lines is pointless.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Time limit for reading files, since the turn waits.
const PATIENCE: Duration = Duration::from_secs(2);
const LARGEST: usize = 10;
const MARKS: usize = 30;

/// Marks of unfinished work at the start of a comment or followed by a colon.
static UNFINISHED: Pattern = Pattern::new(include_str!("unfinished.regex"));

#[derive(Default)]
struct FolderContent {
    files: usize,
    kinds: BTreeMap<String, usize>,
}

/// The project's folders and their contents; the largest are kept if not all fit.
pub fn structure(root: &Path, max_chars: usize) -> String {
    let mut folders: BTreeMap<String, FolderContent> = BTreeMap::new();
    let mut top = Vec::new();
    let mut total = 0;
    for path in files(root) {
        total += 1;
        let kind = kind(&path).to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() == 1 {
            top.push(path.clone());
        }
        for depth in 1..parts.len().min(DEPTH + 1) {
            let content = folders.entry(parts[..depth].join("/")).or_default();
            content.files += 1;
            *content.kinds.entry(kind.clone()).or_default() += 1;
        }
    }
    let head = format!(
        "{} in {}. At the top: {}",
        plural(total, "file"),
        plural(folders.len(), "folder"),
        top.join(" ")
    );
    let mut text = one_line(&head, max_chars / 3);
    let mut by_size: Vec<(&String, &FolderContent)> = folders.iter().collect();
    by_size.sort_by_key(|(path, content)| (path.matches('/').count(), Reverse(content.files)));
    let mut room = max_chars.saturating_sub(text.len());
    let mut shown: Vec<(&String, String)> = Vec::new();
    for (path, content) in by_size {
        let line = format!("\n{path}/ {}", content.summary());
        if line.len() > room {
            break;
        }
        room -= line.len();
        shown.push((path, line));
    }
    shown.sort();
    text.extend(shown.into_iter().map(|(_, line)| line));
    text
}

impl FolderContent {
    fn summary(&self) -> String {
        let mut kinds: Vec<(&String, &usize)> = self.kinds.iter().collect();
        kinds.sort_by_key(|(name, count)| (Reverse(**count), *name));
        let named: Vec<String> =
            kinds.iter().take(3).map(|(name, count)| format!("{count} {name}")).collect();
        let rest: usize = kinds.iter().skip(3).map(|(_, count)| **count).sum();
        if rest == 0 { named.join(", ") } else { format!("{}, {rest} others", named.join(", ")) }
    }
}

/// Lines by kind of file, the largest files, and marks of unfinished work.
pub fn size_and_marks(root: &Path, max_chars: usize) -> String {
    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut sizes: Vec<(usize, String)> = Vec::new();
    let (mut marks, mut partial) = (Vec::new(), false);
    let begun = Instant::now();
    for path in files(root) {
        let Some(text) = file::small_text(&root.join(&path), MAX_FILE_BYTES) else { continue };
        if begun.elapsed() > PATIENCE {
            partial = true;
            break;
        }
        let lines = text.lines().count();
        let entry = kinds.entry(kind(&path).to_owned()).or_default();
        *entry = (entry.0 + 1, entry.1 + lines);
        for (number, line) in text.lines().enumerate().filter(|(_, line)| UNFINISHED.is_match(line)) {
            marks.push(format!("{path}:{} {}", number + 1, one_line(line.trim(), 120)));
        }
        sizes.push((lines, path));
    }
    let mut kinds: Vec<(String, (usize, usize))> = kinds.into_iter().collect();
    kinds.sort_by_key(|(name, (_, lines))| (Reverse(*lines), name.clone()));
    let kinds: Vec<String> = kinds
        .iter()
        .take(8)
        .map(|(name, (files, lines))| format!("{name} {lines} in {}", plural(*files, "file")))
        .collect();
    sizes.sort_by(|a, b| b.cmp(a));
    let largest: Vec<String> =
        sizes.iter().take(LARGEST).map(|(lines, path)| format!("{path} {lines}")).collect();
    let of = if partial { " (of the files read in 2 s)" } else { "" };
    let mut text = format!("Lines{of}: {}\nLargest: {}", kinds.join("; "), largest.join("; "));
    if marks.is_empty() {
        return text;
    }
    text.push_str(&format!("\nTODO/FIXME: {}", marks.len()));
    for mark in marks.iter().take(MARKS) {
        if text.len() + mark.len() >= max_chars {
            break;
        }
        text.push('\n');
        text.push_str(mark);
    }
    text
}

fn files(root: &Path) -> Vec<String> {
    Walk::new(root)
        .sorted()
        .filter(walk::is_file)
        .filter_map(|entry| entry.path().strip_prefix(root).ok()?.to_str().map(str::to_owned))
        .take(MAX_FILES)
        .collect()
}

fn kind(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(_, extension)| extension)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("Cargo.toml", "[package]\n"),
            ("src/main.rs", "fn main() {}\n// TODO: arguments\nlet todo = 1;\n"),
            ("src/net/http.rs", "// fine\nx(); // FIXME later\n"),
            ("docs/a.md", "# A\nTODO list is done\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn structure_names_folders() {
        let project = project();
        let text = structure(project.path(), 2_000);
        assert_eq!(
            text,
            "4 files in 3 folders. At the top: Cargo.toml\ndocs/ 1 md\nsrc/ 2 rs\nsrc/net/ 1 rs"
        );
        assert!(structure(project.path(), 60).len() <= 60);
    }

    #[test]
    fn marks_are_comments() {
        let text = size_and_marks(project().path(), 2_000);
        assert!(
            text.contains("TODO/FIXME: 2\nsrc/main.rs:2 // TODO: arguments\nsrc/net/http.rs:2"),
            "{text}"
        );
        assert!(text.starts_with("Lines: rs 5 in 2 files; md 2 in 1 file;"), "{text}");
    }
}
