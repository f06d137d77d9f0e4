//! Explains why an old text wasn't found, precisely enough for the next attempt to succeed. Never applies an edit.

use std::collections::HashSet;

use super::compare::{self, line_range};
use super::lines::Lines;
use super::match_edit::first_line;
use base::text::elide;

/// Larger files aren't copied just for an error message.
const COPIED_BYTES: usize = 4 * 1024 * 1024;

/// Each escape's meaning, and the message if nothing else was wrong.
const ESCAPES: [(&[(&str, &str)], &str); 2] = [
    (
        &[("\\n", "\n"), ("\\t", "\t"), ("\\\"", "\""), ("\\\\", "\\")],
        "double-escaped: with its \\n, \\t, \\\" or \\\\ unescaped",
    ),
    (
        &[("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")],
        "HTML-escaped: with plain < > & \" '",
    ),
];

pub fn not_found(text: &str, old: &str) -> String {
    let lines = Lines::new(text);
    if text.is_empty() {
        return "the file is empty".to_owned();
    }
    known_mistake(&lines, old)
        .or_else(|| compare::nearest(&lines, old))
        .unwrap_or_else(|| "no similar text found; Read the file again".to_owned())
}

/// The line where `new` already is, which may explain why the old text is gone. Short texts are too common.
pub fn stands_at(text: &str, new: &str) -> Option<usize> {
    const TELLING_CHARS: usize = 8;
    let tells = new.trim().chars().count() >= TELLING_CHARS;
    first_line(&Lines::new(text), new).filter(|_| tells).map(|line| line + 1)
}

/// Whether every non-blank line starts with an ascending number and a tab (Read) or arrow (other viewers).
pub fn is_numbered(text: &str) -> bool {
    let mut last: Option<u64> = None;
    text.lines().filter(|line| !line.is_empty()).all(|line| {
        let number = line.split_once(['\t', '→']).and_then(|(number, _)| number.trim_start().parse().ok());
        let before = std::mem::replace(&mut last, number);
        number.is_some_and(|number| before.is_none_or(|before| before.checked_add(1) == Some(number)))
    }) && last.is_some()
}

/// The line without its number and mark, and, if `space`, without the space after them.
pub(super) fn behind_number<'a>(line: &'a str, marks: &str, space: bool) -> Option<&'a str> {
    let (number, rest) = line.split_once(|c| marks.contains(c))?;
    let number = number.trim_start();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.strip_prefix(' ').filter(|_| space).unwrap_or(rest))
}

pub fn has_pasted_line(text: &str, new: &str) -> bool {
    let lines = Lines::new(text);
    let is_pasted = |line: &str| {
        let rest = behind_number(line, "\t→", false).filter(|rest| !rest.trim().is_empty())?;
        let number: usize = line.trim_start().split(['\t', '→']).next()?.parse().ok()?;
        Some(lines.get(number.checked_sub(1)?)? == rest)
    };
    new.lines().any(|line| is_pasted(line) == Some(true) && !text.contains(line))
}

fn known_mistake(lines: &Lines, old: &str) -> Option<String> {
    let line_with = |old: &str| first_line(lines, old).map(|line| line + 1);
    if let Some(said) = line_numbers(old, line_with) {
        return Some(said);
    }
    for (escapes, said) in ESCAPES {
        let unescaped =
            escapes.iter().fold(old.to_owned(), |text, (escape, plain)| text.replace(escape, plain));
        if unescaped != old
            && let Some(line) = line_with(&unescaped)
        {
            return Some(format!("old_string is {said} it matches at line {line}"));
        }
    }
    if lines.text().len() > COPIED_BYTES {
        return None;
    }
    if let Some(line) = first_line(&Lines::new(&plain(lines.text())), &plain(old)) {
        return Some(format!(
            "at line {} the text differs only in typographic or invisible characters (quotes, dashes, spaces). {}",
            line + 1,
            compare::beside(lines, line, old)
        ));
    }
    if old.trim().is_empty() {
        return Some("old_string is only whitespace, and the file has no such whitespace".to_owned());
    }
    if let Some(found) = apart_from_space(lines, old) {
        let place = line_range(found.first, found.last);
        let line_break = found.line_break.map(|line_break| format!("and {line_break}"));
        let what = line_break.unwrap_or_else(|| "but not by one uniform indentation".to_owned());
        let beside = compare::beside(lines, found.first, old);
        return Some(format!("at {place} the text differs only in whitespace, {what}. {beside}"));
    }
    let line = first_line(&Lines::new(&lines.text().to_lowercase()), &old.to_lowercase())?;
    let beside = compare::beside(lines, line, old);
    Some(format!("at line {} the text differs only in letter case. {beside}", line + 1))
}

/// Marks that are common in data count only if the text matches without the numbers.
fn line_numbers(old: &str, line_with: impl Fn(&str) -> Option<usize>) -> Option<String> {
    let said = |which: &str, line: Option<usize>| {
        let line = line.map_or(String::new(), |line| format!(" (then it matches at line {line})"));
        format!("old_string contains Read's line numbers{which}; remove them{line}")
    };
    for (marks, space) in [("\t→", false), ("|", false), ("|", true), (":", false), (":", true), ("→", true)]
    {
        let bare: Vec<Option<&str>> = old.split('\n').map(|line| behind_number(line, marks, space)).collect();
        let numbered: Vec<usize> =
            (1..).zip(&bare).filter_map(|(number, line)| line.map(|_| number)).collect();
        let (Some(first), Some(last)) = (numbered.first(), numbered.last()) else { continue };
        let plain: Vec<&str> = old.split('\n').zip(&bare).map(|(line, bare)| bare.unwrap_or(line)).collect();
        if let Some(line) = line_with(&plain.join("\n")) {
            let all = numbered.len() >= old.lines().filter(|line| !line.is_empty()).count();
            let which = match all {
                true => String::new(),
                false if first == last => format!(" before its line {first}"),
                false => format!(" before some lines ({first} to {last})"),
            };
            return Some(said(&which, Some(line)));
        }
    }
    is_numbered(old).then(|| said("", None))
}

/// Replaces typographic and invisible characters with plain ones. Line feeds stay, so line numbers don't change.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{b4}' => out.push('\''),
            '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => out.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
            '\u{2026}' => out.push_str("..."),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => out.push(' '),
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

struct SpaceMatch {
    first: usize,
    last: usize,
    /// Which side has an additional line break, in words.
    line_break: Option<String>,
}

/// A text that differs only in whitespace, and whether the difference is a line break.
fn apart_from_space(lines: &Lines, old: &str) -> Option<SpaceMatch> {
    let tight = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (text, tight_old) = (tight(lines.text()), tight(old));
    let at = text.find(&tight_old).filter(|_| !tight_old.is_empty())?;
    let real = solid(lines.text()).skip(text[..at].chars().count());
    let pairs: Vec<_> = real.zip(solid(old)).collect();
    let broken = pairs.iter().skip(1).find(|((_, in_file), (_, in_old))| in_file != in_old);
    let line_break = broken.map(|((real, in_file), (given, _))| {
        let word = elide(old[*given..].lines().next().unwrap_or_default().trim(), 30);
        let (file, own) = (lines.line_of(*real) + 1, old[..*given].matches('\n').count() + 1);
        match in_file {
            true => format!("the file has a line break before `{word}` (line {file}), old_string has none (its line {own})"),
            false => format!("old_string has a line break before `{word}` (its line {own}), the file has none (line {file})"),
        }
    });
    let line = |pair: Option<&((usize, bool), _)>| pair.map(|((at, _), _)| lines.line_of(*at));
    Some(SpaceMatch { first: line(pairs.first())?, last: line(pairs.last())?, line_break })
}

/// Positions of the non-whitespace characters, and whether a line break precedes each.
fn solid(text: &str) -> impl Iterator<Item = (usize, bool)> {
    let mut broken = false;
    text.char_indices().filter_map(move |(at, c)| {
        if c.is_whitespace() {
            broken |= c == '\n';
            return None;
        }
        Some((at, std::mem::take(&mut broken)))
    })
}

const NEAR_LINES: isize = 12;

/// The nearest lines above or below that distinguish the occurrences at `places`, each `long` lines.
pub fn told_apart(text: &str, places: &[usize], long: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for step in (1..=NEAR_LINES).flat_map(|step| [-step, step + long as isize - 1]) {
        let at = places.iter().filter_map(|place| place.checked_add_signed(step)?.checked_sub(1));
        let near: Vec<(usize, &str)> = at.filter_map(|at| Some((at + 1, *lines.get(at)?))).collect();
        let kinds: HashSet<&str> = near.iter().map(|near| near.1).filter(|line| !line.is_empty()).collect();
        if kinds.len() == places.len() && places.len() <= 4 {
            let near = near.iter().map(|(at, line)| format!("line {at} is `{}`", elide(line, 160)));
            return format!("; what tells them apart: {}", near.collect::<Vec<_>>().join(", "));
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_mistakes() {
        let text = "fn a() {\n    let x = “quoted”;\n\tTab();\n}\n";
        let says = |old: &str, part: &str| {
            let said = not_found(text, old);
            assert!(said.contains(part), "{said}");
        };
        says("1\tfn a() {\n2\t    let", "Read's line numbers; remove them (then it matches at line 1)");
        says("let x = \"quoted\";", "line 2 the text differs only in typographic");
        says("fn a() {\\n    let x", "double-escaped");
        says("fn a()  {\nlet x", "at lines 1-2 the text differs only in whitespace, but");
        says("FN A() {", "letter case");
        says("  fn a() {\n  let x = “quoted”;", "file line 1: fn·a()·{\nold_string line 1: ··fn·a()·{");
        says(
            "fn a() {\n2\t    let x = “quoted”;",
            "line numbers before its line 2; remove them (then it matches at line 1)",
        );
        says(
            "fn a() {\n    let x =\n  “quoted”;",
            "old_string has a line break before `“quoted”;` (its line 3), the file has none",
        );
        says("fn a() { let x = “quoted”;", "the file has a line break before `let x = “quoted”;` (line 2)");
        says("completely = different_thing(42)", "no similar text found");
        says("    let y = “quoted”;", "file line 2: ····let·x·=·“quoted”;\nold_string line 1: ····let·y");
        assert!(
            !is_numbered("12 apples\n13 pears") && !is_numbered("1\ta\n3\tb") && is_numbered("9\ta\n10\tb\n")
        );
    }
}
