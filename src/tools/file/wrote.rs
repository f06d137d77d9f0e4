//! Details about a written change: line numbers, syntax errors in data files, and names that may have been
//! meant.

use std::path::Path;
use std::time::Duration;

use similar::{DiffTag, TextDiff};

use crate::cx::ToolCx;
use crate::paths::{PathTarget, or_nearest, resolve};
use base::path;
use base::pattern::Pattern;
use base::text::one_line;

const SHOWN_CHARS: usize = 160;

/// Numbers of the changed lines after the change, such as `lines 3-5, 9`.
pub(crate) fn changed_lines(before: &str, after: &str) -> String {
    const LISTED: usize = 12;
    let diff = TextDiff::configure().timeout(Duration::from_millis(200)).diff_lines(before, after);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    let ranges: Vec<String> = changed
        .map(|op| op.new_range())
        .map(|range| match range.len() {
            0 | 1 => (range.start + 1).to_string(),
            _ => format!("{}-{}", range.start + 1, range.end),
        })
        .collect();
    let more = if ranges.len() > LISTED { ", …" } else { "" };
    let word = if ranges.len() == 1 && !ranges[0].contains('-') { "line" } else { "lines" };
    format!("{word} {}{more}", ranges[..ranges.len().min(LISTED)].join(", "))
}

/// The existing file that a nonexistent path probably means.
pub fn probably_meant(cx: &ToolCx, text: &str) -> Option<String> {
    let wanted = resolve(cx, text).ok()?;
    if wanted.resolved.absolute.symlink_metadata().is_ok() {
        return None;
    }
    let (found, note) = or_nearest(cx, wanted.clone()).ok()?;
    note.map(|_| format!("`{}`", found.shown)).or_else(|| similar_neighbor(cx, &wanted))
}

/// A file whose name or folder differs from the new one's by one letter, and so may be meant.
pub(crate) fn similar_neighbor(cx: &ToolCx, target: &PathTarget) -> Option<String> {
    let path = Some(&target.resolved.canonical).filter(|path| path.starts_with(&*cx.root))?;
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_near = |own: &str, other: &str| {
        own.eq_ignore_ascii_case(other)
            || own.len() >= 4
                && !own.ends_with(|c: char| c.is_ascii_digit())
                && strsim::damerau_levenshtein(own, other) <= 1
    };
    let kind = |ending: &str| ending.to_ascii_lowercase().replace("yaml", "yml");
    let entry = |folder: &Path, fits: &dyn Fn(&str) -> bool| {
        let names = std::fs::read_dir(folder).ok()?.take(2_000).flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| fits(name)).map(|name| folder.join(name))
    };
    let file = entry(folder, &|other| {
        let (their_stem, their_ending) = other.rsplit_once('.').unwrap_or((other, ""));
        other != name && kind(their_ending) == kind(ending) && is_near(stem, their_stem)
    });
    let is_new = folder != cx.root.as_path() && entry(folder, &|other| other != name).is_none();
    let other = file.or_else(|| {
        let (above, own) = (folder.parent().filter(|_| is_new)?, folder.file_name()?.to_str()?);
        let is_twin =
            |other: &str| other != own && is_near(own, other) && above.join(other).join(name).exists();
        let twin = entry(above, &is_twin)?;
        Some(twin.join(name))
    })?;
    Some(format!("`{}`", path::display(&cx.root, &other)))
}

/// Why the text isn't valid for its file type; `None` if it is, or if we can't tell.
pub fn problem(name: &str, text: &str) -> Option<String> {
    let (kind, error) = match Path::new(name).extension()?.to_str()? {
        "json" if !is_commented(name) => {
            ("JSON", serde_json::from_str::<serde::de::IgnoredAny>(text).err()?.to_string())
        }
        "toml" => ("TOML", text.parse::<toml::Table>().err()?.to_string()),
        "yaml" | "yml" if !text.contains("{{") && !text.contains("\n---") => {
            let error = serde_saphyr::from_str::<serde::de::IgnoredAny>(text).err()?.to_string();
            ("YAML", error.lines().next()?.replace("error: ", ""))
        }
        _ => return None,
    };
    Some(format!("it is not valid {kind}: {}", one_line(&error, SHOWN_CHARS)))
}

/// These allow comments and trailing commas.
fn is_commented(name: &str) -> bool {
    static COMMENTED: Pattern = Pattern::new(include_str!("commented.regex"));
    COMMENTED.is_match(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files() {
        assert!(problem("a.json", "{\"a\": 1,}").is_some_and(|why| why.starts_with("it is not valid JSON")));
        assert!(problem("a.toml", "a = ").is_some() && problem("a.yml", "a: [1").is_some());
        for (name, text) in [
            ("a.json", "{}"),
            ("tsconfig.json", "{ // c\n}"),
            ("a.toml", "a = 1"),
            ("a.yaml", "a:\n  - 1\n"),
            ("a.rs", "{"),
        ] {
            assert_eq!(problem(name, text), None, "{name}");
        }
    }
}
