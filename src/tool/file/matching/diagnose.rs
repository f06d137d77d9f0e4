//! Why an old text was not found, so precisely that the next try succeeds: the known mistakes by name, else the most
//! similar text with its white space made visible. Only explains; nothing here ever applies an edit.

use super::lines::{Lines, is_blank, visible};
use super::match_edit::find;
use crate::base::text::elide;

/// Lines shown of the nearest text.
const SHOWN_LINES: usize = 6;
/// Characters shown of a line.
const SHOWN_CHARS: usize = 160;
/// Old lines and file lines that take part in the search for the nearest text.
const COMPARED_OLD: usize = 12;
const COMPARED_LINES: usize = 60_000;
/// Larger files are not copied for the sake of a message.
const COPIED_BYTES: usize = 4 * 1024 * 1024;
/// Below this the nearest text is not near.
const NEAR: f64 = 0.45;

/// What is wrong with `old`, as sentences for the model; `text` is the file's.
pub fn not_found(text: &str, old: &str) -> String {
    let lines = Lines::new(text);
    if text.is_empty() {
        return "the file is empty".to_owned();
    }
    known_mistake(&lines, old).unwrap_or_else(|| nearest(&lines, old))
}

/// Whether the text carries line numbers as Read (a tab) or another viewer (an arrow) prints them: every line that says
/// something begins with a number and the mark, the numbers rise by one.
pub fn is_numbered(text: &str) -> bool {
    marked(text, &['\t', '→'])
}

fn marked(text: &str, marks: &[char]) -> bool {
    let mut last: Option<u64> = None;
    text.lines().filter(|line| !line.is_empty()).all(|line| {
        let number = split_mark(line, marks).and_then(|(number, _)| number.trim_start().parse().ok());
        let before = std::mem::replace(&mut last, number);
        number.is_some_and(|number| before.is_none_or(|before| before.checked_add(1) == Some(number)))
    }) && last.is_some()
}

fn split_mark<'a>(line: &'a str, marks: &[char]) -> Option<(&'a str, &'a str)> {
    line.split_once(marks)
}

fn without_numbers(text: &str, marks: &[char]) -> String {
    text.split_inclusive('\n').map(|line| split_mark(line, marks).map_or(line, |(_, rest)| rest)).collect()
}

/// The mistakes that have a name: the text is there but for one systematic difference.
fn known_mistake(lines: &Lines, old: &str) -> Option<String> {
    let line_with = |old: &str| {
        let (_, matches) = find(lines, old, false)?;
        matches.first().map(|found| lines.line_of(found.start) + 1)
    };
    // Marks that are common in data only count when the text is there without them.
    let foreign = ['|', ':'];
    let read = is_numbered(old);
    if read || marked(old, &foreign) && line_with(&without_numbers(old, &foreign)).is_some() {
        let line = line_with(&without_numbers(old, if read { &['\t', '→'] } else { &foreign }));
        let where_ = line.map_or(String::new(), |line| format!(" (then it matches at line {line})"));
        return Some(format!("old_string contains Read's line numbers; remove them{where_}"));
    }
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\");
    if unescaped != old
        && let Some(line) = line_with(&unescaped)
    {
        return Some(format!(
            "old_string is double-escaped: with its \\n, \\t, \\\" or \\\\ unescaped it matches at line {line}"
        ));
    }
    if lines.text().len() > COPIED_BYTES {
        return None;
    }
    let plain_text = plain(lines.text());
    let plain_lines = Lines::new(&plain_text);
    if let Some((_, matches)) = find(&plain_lines, &plain(old), false)
        && let Some(found) = matches.first()
    {
        let line = plain_lines.line_of(found.start);
        let last = plain_lines.line_of(found.end.saturating_sub(1));
        return Some(format!(
            "at line {} the text differs only in typographic or invisible characters (quotes, dashes, spaces). {}",
            line + 1,
            first_difference(lines, line, last + 1 - line, old)
        ));
    }
    let tight = |line: &str| line.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let wanted: Vec<String> = old.lines().map(tight).filter(|line| !line.is_empty()).collect();
    if wanted.is_empty() {
        return Some("old_string is only white space, and the file has no such white space".to_owned());
    }
    let real: Vec<(usize, String)> = (0..lines.count())
        .map(|n| (n, tight(lines.content(n))))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    if let Some(found) =
        real.windows(wanted.len()).find(|window| window.iter().map(|w| &w.1).eq(wanted.iter()))
    {
        let (first, last) = (found[0].0, found[found.len() - 1].0);
        return Some(format!(
            "at {} the text differs only in white space, but not by one uniform indentation. {}",
            line_range(first, last),
            first_difference(lines, first, last + 1 - first, old)
        ));
    }
    let lower_text = lines.text().to_lowercase();
    let (lower, lower_old) = (Lines::new(&lower_text), old.to_lowercase());
    let (_, matches) = find(&lower, &lower_old, false)?;
    let line = lower.line_of(matches.first()?.start);
    let count = old.lines().count().max(1);
    Some(format!(
        "at line {} the text differs only in letter case. {}",
        line + 1,
        first_difference(lines, line, count, old)
    ))
}

fn line_range(first: usize, last: usize) -> String {
    if first == last { format!("line {}", first + 1) } else { format!("lines {}-{}", first + 1, last + 1) }
}

/// Typographic and invisible characters replaced by their plain forms. Line feeds stay, so line numbers do too.
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

/// The first line in which the old text and the file differ, both with visible white space.
fn first_difference(lines: &Lines, first: usize, count: usize, old: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let shown = |line: &str| elide(&visible(line), SHOWN_CHARS);
    for (offset, given) in old.iter().enumerate().take(count) {
        let index = first + offset;
        let Some(real) = lines.get(index) else { break };
        // The first line may begin, and the last may end, inside a line of the file.
        let (is_first, is_last) = (offset == 0, offset + 1 == old.len());
        let same = match (is_first, is_last) {
            (true, true) => real.contains(given),
            (true, false) => real.ends_with(given),
            (false, true) => real.starts_with(given),
            (false, false) => real == *given,
        };
        if !same {
            let (real, given) = around_difference(real, given);
            return format!(
                "File line {}: `{}`; old_string line {}: `{}` (· space, → tab)",
                index + 1,
                shown(&real),
                offset + 1,
                shown(&given)
            );
        }
    }
    format!("The file has there:\n{}", quote(lines, first, count))
}

/// Two long lines cut to the part where they begin to differ.
fn around_difference(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let skip =
        if a.chars().count().max(b.chars().count()) > SHOWN_CHARS { same.saturating_sub(40) } else { 0 };
    let cut = |line: &str| {
        let rest: String = line.chars().skip(skip).take(SHOWN_CHARS * 2).collect();
        if skip > 0 { format!("…{rest}") } else { rest }
    };
    (cut(a), cut(b))
}

fn quote(lines: &Lines, first: usize, count: usize) -> String {
    (first..lines.count())
        .take(count.min(SHOWN_LINES))
        .map(|index| format!("{}\t{}", index + 1, elide(&visible(lines.content(index)), SHOWN_CHARS)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The most similar run of lines.
fn nearest(lines: &Lines, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().skip_while(|line| is_blank(line)).take(COMPARED_OLD).collect();
    let mut best: Vec<(f64, usize)> = Vec::new();
    for first in 0..lines.count().min(COMPARED_LINES) {
        let rough: f64 = wanted
            .iter()
            .enumerate()
            .filter_map(|(offset, line)| Some(rough_likeness(lines.get(first + offset)?, line)))
            .sum();
        best.push((rough, first));
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    best.truncate(8);
    let fine = |first: usize| {
        let sum: f64 = wanted
            .iter()
            .enumerate()
            .map(|(offset, line)| {
                let real = lines.get(first + offset).unwrap_or_default();
                strsim::normalized_levenshtein(&elide(real.trim(), 240), &elide(line.trim(), 240))
            })
            .sum();
        sum / wanted.len().max(1) as f64
    };
    let nearest = best.into_iter().map(|(_, first)| (fine(first), first)).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((score, first)) if score >= NEAR => {
            let count = old.lines().count().max(1);
            let last = (first + count).min(lines.count()) - 1;
            format!(
                "the most similar text ({}; · space, → tab):\n{}",
                line_range(first, last),
                quote(lines, first, count)
            )
        }
        _ => "no similar text found; Read the file again".to_owned(),
    }
}

/// A cheap likeness of two lines: common beginning and end.
fn rough_likeness(a: &str, b: &str) -> f64 {
    let (a, b) = (a.trim().as_bytes(), b.trim().as_bytes());
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 0.1;
    }
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let back = a[front..].iter().rev().zip(b[front..].iter().rev()).take_while(|(a, b)| a == b).count();
    (front + back) as f64 / longest as f64
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
        says("fn a()  {\nlet x", "most similar text (lines 1-2;");
        says("FN A() {", "letter case");
        says("  fn a() {\n  let x = “quoted”;", "File line 1: `fn·a()·{`");
        says("completely = different_thing(42)", "no similar text found");
        says("    let y = “quoted”;", "2\t····let·x");
        assert!(
            !is_numbered("12 apples\n13 pears") && !is_numbered("1\ta\n3\tb") && is_numbered("9\ta\n10\tb\n")
        );
    }
}
