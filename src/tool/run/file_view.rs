//! A command that only shows one file (`cat`, `head`, `tail`, `sed -n`) is a view of that file, as a Read is: it may stand
//! in for one, and a Read before an edit is not asked for again. What was shown is compared with the file byte by byte,
//! so that only what the command showed counts as seen.

use std::path::Path;

use serde_json::{Value, json};

use crate::base::file;
use crate::base::path;
use crate::tool::cx::ToolCx;

/// Larger files are not compared.
const READ_BYTES: u64 = 1024 * 1024;

/// Which lines a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineRange {
    All,
    First(usize),
    Last(usize),
    From(usize),
    Between(usize, usize),
}

/// The view that `command`, run in `cwd`, gave with `output`; the file counts as seen then.
pub(crate) fn of_command(cx: &ToolCx, command: &str, cwd: &Path, output: &[u8]) -> Option<Value> {
    let (name, range) = shown(command)?;
    let resolved = path::resolve(cwd, &name);
    let (bytes, _) = file::read(&resolved.canonical, READ_BYTES).ok()?;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let total = lines.len();
    let (from, to) = match range {
        LineRange::All => (1, total),
        LineRange::First(count) => (1, count.min(total)),
        LineRange::Last(count) => (total.saturating_sub(count) + 1, total),
        LineRange::From(first) => (first.max(1), total),
        LineRange::Between(first, last) => (first.max(1), last.min(total)),
    };
    if total == 0 || from > to || lines[from - 1..to].concat() != output {
        return None;
    }
    let hash = file::hash(&bytes);
    cx.files.saw(&resolved.canonical, hash.clone(), &bytes);
    let shown = path::display(&cx.root, &resolved.absolute);
    Some(json!({"path": shown, "hash": hash, "start_line": from, "end_line": to, "total_lines": total}))
}

/// The one file that a plain command shows, and which lines of it.
fn shown(command: &str) -> Option<(String, LineRange)> {
    let words = words(command.trim())?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, range) = match words.as_slice() {
        ["cat", name] | ["cat", "--", name] => (*name, LineRange::All),
        ["head", name] => (*name, LineRange::First(10)),
        ["tail", name] => (*name, LineRange::Last(10)),
        ["head", "-n", count, name] => (*name, LineRange::First(count.parse().ok()?)),
        ["tail", "-n", count, name] => match count.strip_prefix('+') {
            Some(first) => (*name, LineRange::From(first.parse().ok()?)),
            None => (*name, LineRange::Last(count.parse().ok()?)),
        },
        ["head", count, name] => (*name, LineRange::First(flag(count)?)),
        ["tail", count, name] => (*name, LineRange::Last(flag(count)?)),
        ["sed", "-n", range, name] => {
            let range = range.strip_suffix('p')?;
            let (first, last) = range.split_once(',').unwrap_or((range, range));
            let first = first.parse().ok()?;
            (
                *name,
                if last == "$" {
                    LineRange::From(first)
                } else {
                    LineRange::Between(first, last.parse().ok()?)
                },
            )
        }
        _ => return None,
    };
    (!name.starts_with('-')).then(|| (name.to_owned(), range))
}

/// `-20` and `-n20`.
fn flag(word: &str) -> Option<usize> {
    let word = word.strip_prefix('-')?;
    word.strip_prefix('n').unwrap_or(word).parse().ok()
}

/// The words of a command without any of the shell's own signs; `None` where it has some.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '\\') => return None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (
                None,
                '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '\\' | '*' | '?' | '[' | '{' | '#' | '~'
                | '\n' | '!',
            ) => {
                return None;
            }
            (None, '$') => return None,
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_views() {
        let of = |command: &str| shown(command).map(|(name, range)| format!("{name} {range:?}"));
        assert_eq!(of("cat src/a.rs").as_deref(), Some("src/a.rs All"));
        assert_eq!(of("cat 'my file.txt'").as_deref(), Some("my file.txt All"));
        assert_eq!(of("head -n 20 a.rs").as_deref(), Some("a.rs First(20)"));
        assert_eq!(of("tail -5 a.rs").as_deref(), Some("a.rs Last(5)"));
        assert_eq!(of("sed -n '3,9p' a.rs").as_deref(), Some("a.rs Between(3, 9)"));
        assert_eq!(of("sed -n 3,$p a.rs").as_deref(), None, "the shell would expand it");
        assert_eq!(of("sed -n '3,$p' a.rs").as_deref(), Some("a.rs From(3)"));
        for other in [
            "cat a b",
            "cat a | head",
            "cat a > b",
            "cat -n a",
            "cat $A",
            "cat *.rs",
            "sed -i s/a/b/ a",
            "cat",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
