//! `InputPreprocessor`: finds `@file` mentions in user input and makes the reminder that follows it. Contents
//! aren't pasted: the model reads what it needs. Only checks whether a path exists.

use std::path::PathBuf;

use base::path;
use base::search::fuzzy;

/// Mentions named in the reminder; the rest are counted.
const MAX_MENTIONS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub path: String,
    pub range: Option<String>,
}

pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut before = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let after = at + c.len_utf8();
        let opens = c == '@'
            && !before.is_some_and(|b: char| b.is_ascii_alphanumeric() || b == '_' || b == '.' || b == '@');
        before = Some(c);
        at = after;
        if !opens {
            continue;
        }
        let Some((raw, end)) = raw_path(&text[after..]) else { continue };
        at = after + end;
        before = text[..at].chars().next_back();
        let mention = split_range(raw);
        // `@server:scheme://…` is an MCP resource.
        let is_file = !mention.path.is_empty() && !mention.path.contains("://");
        if is_file && !found.contains(&mention) {
            found.push(mention);
        }
    }
    found
}

fn raw_path(rest: &str) -> Option<(&str, usize)> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find(['"', '\n'])?;
        if !quoted[end..].starts_with('"') || end == 0 {
            return None;
        }
        // A range after the closing quote is left as plain text.
        return Some((&quoted[..end], end + 2));
    }
    let end = rest
        .find(|c: char| c.is_whitespace() || "\"'`<>|*?()[]{},;，。；、（）「」".contains(c))
        .unwrap_or(rest.len());
    // In scripts without blanks between words, another mention may follow directly.
    let next = rest[..end]
        .char_indices()
        .zip(rest.chars().skip(1))
        .find(|((_, c), next)| !c.is_ascii() && *next == '@');
    let end = next.map_or(end, |((at, c), _)| at + c.len_utf8());
    let path = rest[..end].trim_end_matches(['.', ':', '!', '…', '！', '？']);
    (!path.is_empty() && path.chars().any(char::is_alphanumeric)).then_some((path, path.len()))
}

fn split_range(raw: &str) -> Mention {
    let is_range = |range: &str| {
        let mut parts = range.splitn(2, '-');
        parts.all(|part| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    match raw.rsplit_once(':') {
        Some((path, range)) if is_range(range) && !path.is_empty() => {
            Mention { path: path.to_owned(), range: Some(range.to_owned()) }
        }
        _ => Mention { path: raw.to_owned(), range: None },
    }
}

/// Each mention is the longest existing path: in scripts without blanks, words may follow it directly.
pub fn existing_first(text: &str, roots: &[PathBuf]) -> Vec<Mention> {
    let exists = |path: &str| place(roots, path).is_some();
    let resolved = mentions(text).into_iter().map(|mention| {
        if exists(&mention.path) {
            return mention;
        }
        let ends = mention.path.char_indices().rev().filter(|(_, c)| !c.is_ascii());
        let mut shorter =
            ends.map(|(end, _)| split_range(&mention.path[..end])).filter(|it| !it.path.is_empty());
        let near = shorter.clone().find(|it| like_a_path(&it.path)).filter(|_| !like_a_path(&mention.path));
        shorter.find(|it| exists(&it.path)).or(near).unwrap_or(mention)
    });
    resolved.collect()
}

/// Where a mentioned path is, in the first folder that has it.
pub fn place(roots: &[PathBuf], path: &str) -> Option<PathBuf> {
    let places = roots.iter().map(|root| path::on_disk(&root.join(path)));
    places.into_iter().find(|place| place.try_exists().unwrap_or(false))
}

/// Whether a missing path looks like a file: `@types/node`, `@app.route` and `@team` don't.
fn like_a_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, ending)| path::is_file_ending(&ending.to_lowercase()))
}

/// The reminder that follows the user's text; `None` if it mentions nothing that could be a file.
pub fn reminder(text: &str, roots: &[PathBuf]) -> Option<String> {
    let root = roots.first()?;
    let mut lines = Vec::new();
    let mut more = 0;
    for mention in existing_first(text, roots) {
        let place = place(roots, &mention.path);
        if place.is_none() && !like_a_path(&mention.path) {
            continue;
        }
        if lines.len() == MAX_MENTIONS {
            more += 1;
            continue;
        }
        let range = mention.range.as_ref().map(|range| format!(" lines {range}")).unwrap_or_default();
        lines.push(if let Some(place) = place {
            let added = roots[1..].iter().any(|folder| place.starts_with(folder));
            let shown = if added { place.to_string_lossy() } else { mention.path.as_str().into() };
            format!("{shown}{}", if place.is_dir() { " (folder)" } else { &range })
        } else {
            match fuzzy::nearest(root, &mention.path, 1).into_iter().next().map(|(path, _)| path) {
                Some(near) => format!("{} (does not exist; did the user mean {near}?)", mention.path),
                None => format!("{} (does not exist)", mention.path),
            }
        });
    }
    if lines.is_empty() {
        return None;
    }
    if more > 0 {
        lines.push(format!("(and {more} more…)"));
    }
    Some(format!(
        "<system-reminder>The user mentioned these; Read what the task needs:\n{}</system-reminder>",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        mentions(text)
            .into_iter()
            .map(|mention| match mention.range {
                Some(range) => format!("{}|{range}", mention.path),
                None => mention.path,
            })
            .collect()
    }

    #[test]
    fn what_is_a_mention() {
        assert_eq!(
            paths("see @src/a.rs and @b.py:10-40, or (@c/d.md)."),
            ["src/a.rs", "b.py|10-40", "c/d.md"]
        );
        assert_eq!(paths("@\"my file.txt\" and @日本/設計.md。"), ["my file.txt", "日本/設計.md"]);
        assert_eq!(paths("mail me@example.com, a@b @@ @ @!"), Vec::<String>::new());
        assert_eq!(paths("@a.rs @a.rs @a.rs:3"), ["a.rs", "a.rs|3"]);
        assert_eq!(paths("what about @src/lib.rs?"), ["src/lib.rs"]);
        assert_eq!(paths("@db:postgres://x/rows.md and @a.rs"), ["a.rs"]);
    }

    #[test]
    fn reminder_limit_and_missing_files() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable!("{error}"));
        for name in ["a.rs", "b.rs", "c.rs", "d.rs"] {
            let _ = std::fs::write(folder.path().join(name), "");
        }
        let text = "@a.rs:1-2 @b.rs @c.rs @dd.rs @d.rs @a.rs @team";
        insta::assert_snapshot!(reminder(text, &[folder.path().to_owned()]).unwrap_or_default(), @r"
        <system-reminder>The user mentioned these; Read what the task needs:
        a.rs lines 1-2
        b.rs
        c.rs
        dd.rs (does not exist; did the user mean d.rs?)
        d.rs
        (and 1 more…)</system-reminder>
        ");
        for text in ["ping @team", "@types/node is outdated", "what does @app.route do?", "mail me@a.rs"] {
            assert_eq!(reminder(text, &[folder.path().to_owned()]), None, "{text}");
        }
    }

    #[test]
    fn names_end_where_a_file_does() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable!("{error}"));
        let _ = std::fs::create_dir(folder.path().join("core"));
        for name in ["core/config.py", "a.py", "设计.md"] {
            let _ = std::fs::write(folder.path().join(name), "");
        }
        for (text, path) in [
            ("请检查@core/config.py的内容", "core/config.py"),
            ("「@a.py」を見て", "a.py"),
            ("@a.pyを直して", "a.py"),
            ("看@设计.md吧", "设计.md"),
            ("파일@core/config.py에서", "core/config.py"),
            ("比较@core/config.py和@a.py。", "core/config.py a.py"),
            ("见@core/confg.py的问题", "core/confg.py"),
        ] {
            let found = existing_first(text, &[folder.path().to_owned()]);
            let found: Vec<&str> = found.iter().map(|mention| &*mention.path).collect();
            assert_eq!(found.join(" "), path, "{text}");
        }
    }
}
