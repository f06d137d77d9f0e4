//! Rules in several files whose front matter says when each applies. Cursor's, `.cursor/rules/**/*.mdc`
//! (cursor.com/docs/rules, checked 2026-11-22): always, with matching files, when its description fits, or when mentioned.
//! Claude Code's, `.claude/rules/**/*.md` (code.claude.com/docs/en/memory): with matching files, or always. Copilot's,
//! `.github/instructions/**/*.instructions.md` (docs.github.com, "Adding repository custom instructions", 2026-11-28): with matching files.

use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use base::config::trusted::agent_files;
use base::file;
use base::format::frontmatter;
use base::search::glob;
use base::text::one_line;

const CLAUDES: &str = ".claude/rules";
/// Folder, file ending, and the front matter key with the patterns.
const KINDS: [(&str, &str, &str); 3] = [
    (CLAUDES, ".md", "paths"),
    (".github/instructions", ".instructions.md", "applyTo"),
    (".cursor/rules", ".mdc", "globs"),
];
/// Value of `excludeAgent` for agents other than the reviewer.
const EXCLUDED: &str = "coding-agent";
const MAX_BYTES: u64 = 256 * 1024;
const MAX_DEPTH: usize = 5;

#[derive(Clone, Debug)]
pub struct ScopedRule {
    pub path: PathBuf,
    pub always: bool,
    /// Used in addition to its folder's rules file, not in place of it.
    pub beside: bool,
    pub description: String,
    globs: Vec<GlobMatcher>,
}

impl ScopedRule {
    fn parse(path: PathBuf) -> Option<Self> {
        let text = file::small_text(&path, MAX_BYTES)?;
        let head = frontmatter::split(text.trim_start_matches('\u{feff}')).head.unwrap_or_default();
        let map = frontmatter::read_lenient(head).unwrap_or_default();
        let (folder, ending, key) = kind(&path)?;
        if map.get("excludeAgent").is_some_and(|agent| *agent == EXCLUDED) {
            return None;
        }
        let patterns = match map.get(key).and_then(serde_json::Value::as_str) {
            Some(text) => patterns(text),
            None => frontmatter::list_of(&map, key),
        };
        Some(Self {
            path,
            always: map.get("alwaysApply").is_some_and(|always| *always == true && ending == ".mdc")
                || folder == CLAUDES && patterns.is_empty(),
            beside: ending != ".mdc",
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

pub fn of_folder(folder: &Path) -> Vec<ScopedRule> {
    let files =
        |(name, ..): &(&str, &str, &str)| agent_files::files(&folder.join(name), MAX_DEPTH, &["mdc", "md"]);
    KINDS.iter().flat_map(files).filter_map(ScopedRule::parse).collect()
}

pub fn is_rule(path: &Path) -> bool {
    kind(path).is_some()
}

fn kind(path: &Path) -> Option<(&'static str, &'static str, &'static str)> {
    let name = path.to_string_lossy();
    let is_it = |(folder, ending, _): &(&str, &str, &str)| {
        name.ends_with(*ending) && path.ancestors().any(|above| above.ends_with(folder))
    };
    KINDS.into_iter().find(is_it)
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
        let rules = dir.path().join(".cursor/rules");
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
        let copilots = dir.path().join(".github/instructions/web");
        fs::create_dir_all(&copilots).unwrap();
        let instruct = |name: &str, text: &str| fs::write(copilots.join(name), text).unwrap();
        instruct("all.instructions.md", "---\napplyTo: '**/*.rs,**/*.toml'\n---\nUse clippy.\n");
        instruct("out.instructions.md", "---\napplyTo: '**'\nexcludeAgent: coding-agent\n---\nx\n");
        instruct("other.md", "Not one.\n");
        let found = of_folder(dir.path());
        assert_eq!(found.len(), 6, "{found:?}");
        let [all, api, copilots, a, b, c] = [0, 1, 2, 3, 4, 5].map(|at| &found[at]);
        assert!(copilots.beside && !copilots.always && copilots.matches(Path::new("src/a.rs")));
        assert!(all.always && all.beside && !api.always && api.matches(Path::new("src/api/x/a.rs")));
        for (path, matches) in [("src/x/a.tsx", true), ("b/c/site.css", true), ("a.js", false)] {
            assert_eq!(a.matches(Path::new(path)), matches, "{path}");
        }
        assert!(b.always && !b.matches(Path::new("a.ts")) && !b.on_demand());
        assert!(c.on_demand() && !a.on_demand());
        assert_eq!(c.description, "How we migrate databases");
    }
}
