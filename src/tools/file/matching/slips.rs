//! Corrects unambiguous mistakes in what a model sends for a file: Read's line numbers at the start of lines, double
//! escapes, a code fence around a whole file.

use std::borrow::Cow;
use std::path::Path;

use super::diagnose::behind_number;
use super::lines::Lines;
use super::match_edit::{TextEdit, find};

/// The edit's texts; a mistake is corrected only if that makes the old text found, in exactly one place.
pub fn mended(text: &str, edit: TextEdit) -> (String, String) {
    let lines = Lines::new(text);
    let as_sent = (edit.old.to_owned(), edit.new.to_owned());
    if edit.old.is_empty() || find(&lines, edit.old, false).is_some() {
        return as_sent;
    }
    let is_one = |old: &str| find(&lines, old, false).is_some_and(|(_, found)| found.len() == 1);
    let unnumbered = || unnumbered(edit.old).zip(unnumbered(edit.new).or_else(|| plain(edit.new)));
    let unescaped = || unescaped(edit.old).zip(unescaped(edit.new));
    unnumbered()
        .filter(|(old, _)| is_one(old))
        .or_else(|| unescaped().filter(|(old, _)| is_one(old)))
        .unwrap_or(as_sent)
}

const MARKS: [&str; 2] = ["\t→", "|"];

/// The text without line numbers; `None` unless every non-blank line has one.
fn unnumbered(text: &str) -> Option<String> {
    MARKS.iter().find_map(|marks| {
        let bare = |line| if str::is_empty(line) { Some(line) } else { behind_number(line, marks, false) };
        let lines: Option<Vec<&str>> = text.split('\n').map(bare).collect();
        lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
    })
}

/// The text, if no line has a number.
fn plain(text: &str) -> Option<String> {
    let is_numbered = |line: &str| MARKS.iter().any(|marks| behind_number(line, marks, false).is_some());
    (!text.lines().any(is_numbered)).then(|| text.to_owned())
}

/// A text of several lines that is escaped as in JSON.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\n' | '"' => return None,
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}

const DOCUMENTS: [&str; 10] = ["md", "mdx", "mdc", "qmd", "Rmd", "markdown", "rst", "org", "txt", "adoc"];

/// The content of a file, without a code fence around it; documents stay as they are.
pub fn unfenced<'c>(path: &str, content: &'c str) -> Cow<'c, str> {
    let ending = Path::new(path).extension();
    let is_document = ending.is_none_or(|ending| DOCUMENTS.iter().any(|known| ending == *known));
    let inner = content.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("\n```"));
    let code = inner.and_then(|inner| inner.split_once('\n'));
    match code.filter(|(word, code)| !is_document && !word.contains(['`', ' ']) && !code.contains("```")) {
        Some((_, code)) => Cow::Owned(format!("{code}\n")),
        None => Cow::Borrowed(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_with_one_meaning() {
        let text = "def f():\n    return 1\n";
        let edit = |old, new| mended(text, TextEdit { old, new, replace_all: false });
        let as_meant = ("    return 1".to_owned(), "    return 2".to_owned());
        assert_eq!(edit("2\t    return 1", "2\t    return 2"), as_meant);
        assert_eq!(edit("    2|    return 1", "    2|    return 2"), as_meant);
        assert_eq!(edit("     2→    return 1", "    return 2"), as_meant);
        let both = ("def f():\n    return 1".to_owned(), "def f():\n    return \"2\"".to_owned());
        assert_eq!(edit("def f():\\n    return 1", "def f():\\n    return \\\"2\\\""), both);
        for (old, new) in [
            ("return 7", "return 2"),
            ("    return 1", "2\t    return 2"),
            ("1\tdef f():\n2\t    return 1", "def f():\n2\t    return 2"),
            ("def f():\\n    return 7", "x"),
        ] {
            assert_eq!(edit(old, new), (old.to_owned(), new.to_owned()));
        }
    }

    #[test]
    fn a_fence_around_a_file() {
        assert_eq!(unfenced("a.py", "```python\nx = 1\n```\n"), "x = 1\n");
        for (path, content) in [
            ("a.md", "```\nx\n```\n"),
            ("README", "```\nx\n```\n"),
            ("a.py", "x = 1\n"),
            ("a.py", "```\nx\n```\ny\n```\nz\n```"),
        ] {
            assert_eq!(unfenced(path, content), content);
        }
    }
}
