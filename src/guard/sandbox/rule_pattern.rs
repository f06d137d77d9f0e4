//! The meaning of rule patterns, for the policy and the helper: `git push *` and `git:*` are about commands,
//! `src/**` is about files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use base::path;
use base::search::glob::{self, like};

pub const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

pub fn in_words(pattern: &str) -> String {
    pattern.strip_suffix(":*").map_or_else(|| pattern.to_owned(), |front| format!("{front} *"))
}

/// Whether the pattern matches a program with its arguments. `git *` matches git with or without arguments.
pub fn fits(pattern: &str, words: &[&str]) -> bool {
    with_or_without_more(pattern, &words.join(" "))
        || without_early_options(words).iter().any(|text| with_or_without_more(pattern, text))
}

/// Whether all words of the pattern occur in text that may run them, as in `env -S 'git push'`.
pub fn mentions(pattern: &str, text: &str) -> bool {
    let part = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.');
    let there: Vec<&str> = text.split(part).collect();
    pattern.split([' ', '*', ':']).all(|word| word.is_empty() || there.contains(&word))
}

/// Removes options and their possible values before the subcommand, as in `git -C x --no-pager push`.
fn without_early_options(words: &[&str]) -> Vec<String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let is_option = |word: &str| word.starts_with('-') || word.starts_with('+');
    let mut lines = Vec::new();
    for at in 1..rest.len() {
        let before = &rest[..at];
        let skippable = |index: usize| is_option(before[index]) || index > 0 && is_option(before[index - 1]);
        if !(0..at).all(skippable) {
            break;
        }
        lines.push([&[*name], &rest[at..]].concat().join(" "));
    }
    lines
}

/// `git *` is about `git`, too.
pub fn with_or_without_more(pattern: &str, text: &str) -> bool {
    like(pattern, text) || pattern.strip_suffix(" *").is_some_and(|front| like(front, text))
}

/// Where a pattern starts, and the rest of it: `//` is the root, `~/` the home; others start in the workspace.
pub fn start_of<'p>(pattern: &'p str, workspace: &Path) -> (PathBuf, &'p str) {
    match (pattern.strip_prefix("//"), pattern.strip_prefix("~/")) {
        (Some(rest), _) => (PathBuf::from("/"), rest),
        (_, Some(rest)) => (std::env::home_dir().unwrap_or_default(), rest),
        _ => {
            // Many write the workspace's own path with one slash.
            let inside = workspace.to_str().and_then(|own| pattern.strip_prefix(own)?.strip_prefix('/'));
            let rest = inside.or_else(|| pattern.strip_prefix("./")).or_else(|| pattern.strip_prefix('/'));
            (workspace.to_owned(), rest.unwrap_or(pattern))
        }
    }
}

/// The folder or file before the first wildcard.
pub fn base(pattern: &str, workspace: &Path) -> PathBuf {
    let (start, rest) = start_of(pattern, workspace);
    let literal = rest.split('/').take_while(|part| !part.contains(WILDCARDS));
    literal.filter(|part| !part.is_empty()).fold(start, |path, part| path.join(part))
}

/// Without a `/`, the pattern is a name at any depth.
pub fn is_about_path(pattern: &str, path: &Path, workspace: &Path) -> bool {
    let (base, rest) = start_of(pattern, workspace);
    let (base, path) = (composed(&base), composed(path));
    let rest = &*path::composed(rest);
    let Ok(inside) = path.strip_prefix(&base) else { return false };
    // A folder includes everything below; a name without `/` matches any folder or file of that name.
    let plain = rest.trim_end_matches("**").trim_end_matches('/');
    if !plain.is_empty() && !plain.contains(WILDCARDS) {
        let anywhere = is_name(pattern) && plain == rest;
        let named = |part: std::path::Component<'_>| part.as_os_str() == plain;
        return inside.starts_with(plain) || anywhere && inside.components().any(named);
    }
    let below = rest.strip_suffix('/').map(|folder| format!("{folder}/**"));
    let rest = below.as_deref().unwrap_or(rest);
    glob::is_match(rest, is_name(pattern), inside)
}

pub fn is_name(pattern: &str) -> bool {
    !pattern.contains('/')
}

/// With accented letters as one character, as in rules.
fn composed(path: &Path) -> Cow<'_, Path> {
    match path.to_str().filter(|text| !text.is_ascii()) {
        Some(text) => PathBuf::from(&*path::composed(text)).into(),
        None => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let about = |pattern: &str, path: &str| is_about_path(pattern, Path::new(path), Path::new("/w"));
        assert!(about("*.ts", "/w/a/b.ts") && about("src/**", "/w/src/a/b.rs") && about("src/", "/w/src/a"));
        assert!(about("migrations", "/w/migrations/1") && about("migrations", "/w/a/migrations/1"));
        assert!(
            about("conf/**", "/w/conf") && !about("conf/**", "/w/config") && !about("conf", "/w/conf.py")
        );
        assert!(about("//etc/*", "/etc/hosts") && about("**/src/**", "/w/a/src/b"));
        assert!(!about("src/**", "/w/a/src/b") && !about("*.ts", "/etc/a.ts") && !about("*.ts", "/w/a.rs"));
    }
}
