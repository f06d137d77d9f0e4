//! Rules in several files, whose front matter says when one applies. Cursor's, `.cursor/rules/**/*.mdc`
//! (cursor.com/docs/rules, checked 2026-11-22): always, with matching files, or when its description fits; else users
//! mention it. Claude Code's, `.claude/rules/**/*.md` (code.claude.com/docs/en/memory): with matching files, or always.

use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use base::config::trusted::agent_files;
use base::file;
use base::format::frontmatter;
use base::search::glob;
use base::text::one_line;

const FOLDER: &str = ".cursor/rules";
const CLAUDES: &str = ".claude/rules";
const MAX_BYTES: u64 = 256 * 1024;
const MAX_DEPTH: usize = 5;

#[derive(Clone, Debug)]
pub struct CursorRule {
    pub path: PathBuf,
    pub always: bool,
    /// It stands beside a rules file of its folder, not in its place.
    pub beside: bool,
    pub description: String,
    globs: Vec<GlobMatcher>,
}

impl CursorRule {
    fn parse(path: PathBuf) -> Option<Self> {
        let text = file::small_text(&path, MAX_BYTES)?;
        let head = frontmatter::split(text.trim_start_matches('\u{feff}')).head.unwrap_or_default();
        let map = frontmatter::read_lenient(head).unwrap_or_default();
        let beside = !is_cursors(&path);
        let key = if beside { "paths" } else { "globs" };
        let patterns = match map.get(key).and_then(serde_json::Value::as_str) {
            Some(text) => patterns(text),
            None => frontmatter::list_of(&map, key),
        };
        Some(Self {
            path,
            always: match beside {
                true => patterns.is_empty(),
                false => map.get("alwaysApply").is_some_and(|always| *always == true),
            },
            beside,
            description: one_line(
                &frontmatter::text_of(head, &map, "description").unwrap_or_default(),
                1_000,
            ),
            globs: patterns.iter().filter_map(|pattern| glob::matcher(pattern, true).ok()).collect(),
        })
    }

    /// Whether it applies to a file, given its path inside the folder that has the rule.
    pub fn matches(&self, inside: &Path) -> bool {
        !self.always && self.globs.iter().any(|glob| glob.is_match(inside))
    }

    pub fn on_demand(&self) -> bool {
        !self.always && self.globs.is_empty() && !self.description.is_empty()
    }
}

pub fn of_folder(folder: &Path) -> Vec<CursorRule> {
    let files = |name: &str| agent_files::files(&folder.join(name), MAX_DEPTH, &["mdc", "md"]);
    let paths = [CLAUDES, FOLDER].into_iter().flat_map(files).filter(|path| is_rule(path));
    paths.filter_map(CursorRule::parse).collect()
}

fn is_cursors(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "mdc")
}

pub fn is_rule(path: &Path) -> bool {
    let claudes = || {
        path.extension().is_some_and(|extension| extension == "md")
            && path.ancestors().any(|folder| folder.ends_with(CLAUDES))
    };
    is_cursors(path) || claudes()
}

/// Patterns separated by commas, except commas in braces.
fn patterns(text: &str) -> Vec<String> {
    let mut open = 0_i32;
    let apart = |c: char| {
        open += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && open <= 0
    };
    let clean = |part: &str| part.trim().trim_matches(['"', '\'']).to_owned();
    text.split(apart).map(clean).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn when_a_rule_counts() {
        let dir = tempfile::tempdir().unwrap();
        let rules = dir.path().join(FOLDER);
        fs::create_dir_all(rules.join("web")).unwrap();
        let write = |name: &str, head: &str| {
            fs::write(rules.join(name), format!("---\n{head}\n---\nBe kind.\n")).unwrap()
        };
        write("a.mdc", "description:\nglobs: **/*.{ts,tsx}, *.css\nalwaysApply: false");
        write("b.mdc", "description: Rules: for everything\nglobs:\nalwaysApply: true");
        write("web/c.mdc", "description: How we migrate databases\nglobs: []");
        write("d.md", "alwaysApply: true");
        let claudes = dir.path().join(CLAUDES);
        fs::create_dir_all(&claudes).unwrap();
        fs::write(claudes.join("all.md"), "Be brief.\n").unwrap();
        fs::write(claudes.join("api.md"), "---\npaths:\n  - src/api/**/*.rs\n---\nCheck input.\n").unwrap();
        let found = of_folder(dir.path());
        assert_eq!(found.len(), 5, "{found:?}");
        let [all, api, a, b, c] = [0, 1, 2, 3, 4].map(|at| &found[at]);
        assert!(all.always && all.beside && !api.always && api.matches(Path::new("src/api/x/a.rs")));
        for (path, matches) in [("src/x/a.tsx", true), ("b/c/site.css", true), ("a.js", false)] {
            assert_eq!(a.matches(Path::new(path)), matches, "{path}");
        }
        assert!(b.always && !b.matches(Path::new("a.ts")) && !b.on_demand());
        assert!(c.on_demand() && !a.on_demand());
        assert_eq!(c.description, "How we migrate databases");
    }
}
