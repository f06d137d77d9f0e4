//! Imports of a rules file: `@path` outside code, like Claude Code and Gemini CLI
//! (code.claude.com/docs/en/memory, geminicli.com/docs/reference/memport, checked 2026-11-22; both document a
//! limit of five levels). Here an imported text follows its importer, once, which also stops cycles.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

use crate::mention;
use guard::sandbox::secret_paths;

const MAX_DEPTH: usize = 5;
const MAX_FILES: usize = 50;

/// Existing files named in the text; relative paths are resolved against the folder of `from`.
pub fn named(text: &str, from: &Path) -> Vec<PathBuf> {
    let folder = from.parent().unwrap_or(from);
    let home = std::env::home_dir().unwrap_or_default();
    let mentions = mention::mentions(&without_code(text)).into_iter();
    let path = |mention: mention::Mention| match mention.path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => folder.join(mention.path),
    };
    mentions.map(path).filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_file()).collect()
}

/// Walks the imports of `main`, each file once; `read` returns a file's text if it may be used.
pub fn walk(main: &Path, text: &str, read: &mut dyn FnMut(&Path) -> Option<String>) {
    let mut seen = vec![main.canonicalize().unwrap_or_else(|_| main.to_owned())];
    let mut level = named(text, &seen[0]);
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for path in std::mem::take(&mut level) {
            if seen.contains(&path) || seen.len() > MAX_FILES {
                continue;
            }
            seen.push(path.clone());
            if let Some(text) = read(&path) {
                next.extend(named(&text, &path));
            }
        }
        level = next;
    }
}

pub fn may_import(real: &Path, root: &Path) -> bool {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    real.starts_with(root) && !secret_paths::is_named_secret(real) && !real.iter().any(|name| name == ".git")
}

fn without_code(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let blank = match event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => true,
            Event::Html(html) | Event::InlineHtml(html) => html.trim_start().starts_with("<!--"),
            _ => false,
        };
        if blank {
            out[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn mentions_of_files_outside_of_code() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in ["a_b_c.md", "b.md", "c.md", "d.md", "README"] {
            fs::write(top.join(name), "").unwrap();
        }
        let text = "See @a_b_c.md, @README and `@b.md`.\n\n```\n@c.md\n```\n\n    @d.md\n\n<!-- @d.md -->\n@missing.md me@b.md\n- @./b.md\n";
        let names: Vec<PathBuf> = named(text, &top.join("CLAUDE.md"));
        assert_eq!(names, ["a_b_c.md", "README", "b.md"].map(|name| top.join(name)));
    }

    #[test]
    fn cycles_and_depth_end() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for n in 0..9 {
            fs::write(top.join(format!("{n}.md")), format!("@{}.md @0.md @CLAUDE.md", n + 1)).unwrap();
        }
        fs::write(top.join("CLAUDE.md"), "@0.md").unwrap();
        let mut order = Vec::new();
        walk(&top.join("CLAUDE.md"), "@0.md", &mut |path| {
            order.push(path.file_stem().unwrap().to_string_lossy().into_owned());
            fs::read_to_string(path).ok()
        });
        assert_eq!(order, ["0", "1", "2", "3", "4"]);
    }
}
