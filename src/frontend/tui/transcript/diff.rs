//! Draws a unified diff: line numbers, syntax colors, changed words, up to a cap; side by side if wide.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::tui::render::highlight::languages::{self, CodeLanguage};
use crate::tui::render::highlight::scanner::{self, State};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::format::diff_cut::DiffCut;
use base::format::diff_lines::{self, DiffLine};
use base::sanitize;

pub const SIDE_BY_SIDE: usize = 120;
/// Later lines only get the color of their sign.
const COLORED_LINES: usize = 2_000;
/// Larger changes are rewrites: their words aren't compared.
const MOST_PAIRS: usize = 30;
const GUTTER: usize = 5;

#[derive(Clone, Debug)]
struct Row {
    sign: char,
    number: usize,
    text: String,
    marks: Vec<Range<usize>>,
    spans: Vec<Span<'static>>,
}

#[derive(Clone, Debug)]
enum Part {
    Row(Row),
    Gap,
    Cut(String, DiffCut),
    File(String),
}

/// Counts the removed lines from `at` on, and the added lines after them.
fn change_at(parts: &[Part], at: usize) -> (usize, usize) {
    let run = |from: usize, sign: char| {
        parts[from..].iter().take_while(|part| matches!(part, Part::Row(row) if row.sign == sign)).count()
    };
    let removed = run(at, '-');
    (removed, run(at + removed, '+'))
}

pub fn render(diff: &str, width: usize, cap: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = sanitize::clean(diff);
    let (mut parts, language) = parse(&text);
    // What doesn't fit begins with the lines before the change.
    let context = parts.iter().take_while(|part| matches!(part, Part::Row(row) if row.sign == ' ')).count();
    let before = context.min(parts.len().saturating_sub(cap));
    parts.drain(..before);
    mark(&mut parts, cap.min(COLORED_LINES));
    let mut hidden = before + both_sides(&mut parts, cap, width);
    color(&mut parts, language, cap, theme);
    let mut shown = 0;
    let mut kept = Vec::new();
    for part in parts {
        match &part {
            Part::Row(_) if shown == cap => hidden += 1,
            Part::Cut(_, cut) if shown == cap => hidden += cut.lines,
            Part::Gap | Part::File(_) if shown == cap => {}
            Part::Row(_) => {
                shown += 1;
                kept.push(part);
            }
            _ => kept.push(part),
        }
    }
    let has = |sign: char| kept.iter().any(|part| matches!(part, Part::Row(row) if row.sign == sign));
    let mut lines = if !theme.is_plain() && width >= SIDE_BY_SIDE && has('-') && has('+') {
        side_by_side(&kept, width, theme)
    } else {
        kept.iter().flat_map(|part| unified(part, width, theme)).collect()
    };
    if hidden > 0 {
        let more = format!("     … {}", base::text::plural(hidden, "more line"));
        lines.push(Line::styled(more, theme.dim()));
    }
    lines
}

fn parse(text: &str) -> (Vec<Part>, Option<&'static CodeLanguage>) {
    let (mut parts, mut language) = (Vec::new(), None);
    for line in diff_lines::read(text) {
        match line {
            DiffLine::Hunk(_) if matches!(parts.last(), None | Some(Part::File(_))) => {}
            DiffLine::Hunk(_) => parts.push(Part::Gap),
            DiffLine::Header(line) => {
                let path = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "));
                language = path.and_then(languages::of_path).or(language);
                let another = line.strip_prefix("+++ b/").filter(|_| !parts.is_empty());
                parts.extend(another.map(|path| Part::File(path.to_owned())));
            }
            DiffLine::Cut(line, cut) => parts.push(Part::Cut(line.to_owned(), cut)),
            DiffLine::Row { sign, old, new, text } => {
                let (number, text) = (if sign == '-' { old } else { new }, wrap::detab(text).into_owned());
                parts.push(Part::Row(Row { sign, number, text, marks: Vec::new(), spans: Vec::new() }));
            }
        }
    }
    (parts, language)
}

/// Shortens a long removal, so that the additions are shown too. Returns the rows hidden without a note.
fn both_sides(parts: &mut Vec<Part>, cap: usize, width: usize) -> usize {
    let mut at = 0;
    while at < parts.len().min(cap) {
        let (removed, added) = change_at(parts, at);
        let (left, shown) = (cap - at, (cap - at) / 2);
        if added > 0 && shown > 0 && removed > shown && removed + 1 >= left {
            let cut = DiffCut { lines: removed - shown, added: 0, removed: removed - shown };
            let wide = width >= SIDE_BY_SIDE;
            let note =
                (!wide).then(|| Part::Cut(format!("… {}", base::text::plural(cut.lines, "more line")), cut));
            parts.splice(at + shown..at + removed, note);
            return if wide { cut.lines } else { 0 };
        }
        at += (removed + added).max(1);
    }
    0
}

/// Each side is scanned as a separate text.
fn color(parts: &mut [Part], language: Option<&CodeLanguage>, cap: usize, theme: Theme) {
    let (mut old, mut new) = (State::default(), State::default());
    for (at, part) in parts.iter_mut().take(cap.saturating_add(8)).enumerate() {
        let Part::Row(row) = part else {
            (old, new) = (State::default(), State::default());
            continue;
        };
        let roles = match language.filter(|_| at < COLORED_LINES) {
            Some(language) => {
                if row.sign == ' ' {
                    scanner::scan(language, &row.text, &mut old);
                }
                scanner::scan(language, &row.text, if row.sign == '-' { &mut old } else { &mut new })
            }
            None => vec![(0..row.text.len(), scanner::Role::Plain)],
        };
        let style = |role| match row.sign {
            ' ' if language.is_none() => theme.dim(),
            ' ' => theme.syntax(role),
            sign => theme.changed(sign == '+', theme.syntax(role)),
        };
        let marked = theme.changed_words(row.sign == '+');
        let spans =
            roles.into_iter().map(|(part, role)| Span::styled(row.text[part].to_owned(), style(role)));
        row.spans = wrap::restyled(spans.collect(), &row.marks, |_| marked);
    }
}

fn mark(parts: &mut [Part], most: usize) {
    let mut at = 0;
    while at < parts.len().min(most) {
        let (removed, added) = change_at(parts, at);
        // In a rewrite, lines with the same number are unrelated.
        let pairs = removed.min(added);
        for pair in 0..if pairs > MOST_PAIRS { 0 } else { pairs } {
            let (before, behind) = parts.split_at_mut(at + removed);
            if let (Some(Part::Row(old)), Some(Part::Row(new))) =
                (before.get_mut(at + pair), behind.get_mut(pair))
            {
                (old.marks, new.marks) = changed_words(&old.text, &new.text);
            }
        }
        at += (removed + added).max(1);
    }
}

fn unified(part: &Part, width: usize, theme: Theme) -> Vec<Line<'static>> {
    match part {
        Part::Gap => vec![Line::styled("     ⋮", theme.dim())],
        Part::File(path) => vec![Line::styled(path.clone(), theme.dim())],
        Part::Cut(text, _) => vec![Line::styled(format!("     {text}"), theme.warning())],
        Part::Row(row) => laid_out(row, width, theme),
    }
}

fn laid_out(row: &Row, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let style = match row.sign {
        '+' => theme.good(),
        '-' => theme.bad(),
        _ => theme.dim(),
    };
    let gutter = if row.number > 0 { format!("{:>4} ", row.number) } else { " ".repeat(GUTTER) };
    let first = [Span::styled(gutter, theme.dim()), Span::styled(row.sign.to_string(), style)];
    let rest = [Span::raw(" ".repeat(GUTTER + 1))];
    let rows = wrap::hard_rows(&row.spans, width.saturating_sub(GUTTER + 1).max(1));
    let before = |at: usize| if at == 0 { &first[..] } else { &rest[..] };
    rows.into_iter().enumerate().map(|(at, spans)| Line::from([before(at), &spans].concat())).collect()
}

fn side_by_side(parts: &[Part], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let half = (width - 3) / 2;
    let mut lines = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let (removed, added) = change_at(parts, at);
        if removed + added == 0 {
            match &parts[at] {
                Part::Row(row) => lines.extend(beside(Some(row), Some(row), half, theme)),
                other => lines.extend(unified(other, width, theme)),
            }
            at += 1;
            continue;
        }
        let row = |index: usize, count: usize, from: usize| match parts.get(from + index) {
            Some(Part::Row(row)) if index < count => Some(row),
            _ => None,
        };
        for index in 0..removed.max(added) {
            lines.extend(beside(row(index, removed, at), row(index, added, at + removed), half, theme));
        }
        at += removed + added;
    }
    lines
}

fn beside(left: Option<&Row>, right: Option<&Row>, half: usize, theme: Theme) -> Vec<Line<'static>> {
    let side = |row: Option<&Row>| row.map(|row| laid_out(row, half, theme)).unwrap_or_default();
    let (left, right) = (side(left), side(right));
    (0..left.len().max(right.len()))
        .map(|at| {
            let mut spans = left.get(at).map(|line| line.spans.clone()).unwrap_or_default();
            let pad = half.saturating_sub(wrap::spans_width(&spans));
            spans.push(Span::styled(" ".repeat(pad), Style::new()));
            spans.push(Span::styled(" │ ", theme.dim()));
            spans.extend(right.get(at).map(|line| line.spans.clone()).unwrap_or_default());
            Line::from(spans)
        })
        .collect()
}

pub fn counts(diff: &str) -> (usize, usize) {
    let lines = diff_lines::read(diff).into_iter();
    lines.fold((0, 0), |(added, removed), line| match line {
        DiffLine::Row { sign: '+', .. } => (added + 1, removed),
        DiffLine::Row { sign: '-', .. } => (added, removed + 1),
        DiffLine::Cut(_, cut) => (added + cut.added, removed + cut.removed),
        _ => (added, removed),
    })
}

const MOST_COMPARED_BYTES: usize = 1_000;

/// Both are empty if too little is left of the old line.
fn changed_words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len() > MOST_COMPARED_BYTES || new.len() > MOST_COMPARED_BYTES {
        return Default::default();
    }
    let (mut removed, mut added, mut same) = (Changed::default(), Changed::default(), 0);
    for change in TextDiff::from_slices(&words(old), &words(new)).iter_all_changes() {
        let word = change.value();
        match change.tag() {
            ChangeTag::Delete => removed.word(word, true),
            ChangeTag::Insert => added.word(word, true),
            ChangeTag::Equal => {
                removed.word(word, false);
                added.word(word, false);
                same += word.trim().len();
            }
        }
    }
    let most = old.trim().len().max(new.trim().len());
    // Changed if at least a third stayed; otherwise replaced.
    if same * 3 < most { Default::default() } else { (removed.ranges, added.ranges) }
}

fn words(mut line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    while let Some(first) = line.chars().next() {
        let end = if is_word(first) { line.find(|c| !is_word(c)) } else { Some(first.len_utf8()) };
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        words.push(word);
        line = rest;
    }
    words
}

#[derive(Default)]
struct Changed {
    at: usize,
    ranges: Vec<Range<usize>>,
}

impl Changed {
    fn word(&mut self, word: &str, changed: bool) {
        let range = self.at..self.at + word.len();
        self.at = range.end;
        match self.ranges.last_mut() {
            _ if !changed => {}
            Some(before) if before.end == range.start => before.end = range.end,
            _ => self.ranges.push(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::render::theme::{Depth, Look};
    use base::config::theme::ThemeName;

    #[test]
    fn each_file_of_a_patch_is_named_and_its_header_is_no_change() {
        let diff = "--- a/n.py\n+++ b/n.py\n@@ -0,0 +1 @@\n+n\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n--- gone\n kept\n";
        assert_eq!(counts(diff), (1, 1));
        let theme = Theme::default();
        let shown: Vec<String> = render(diff, 40, 20, theme).iter().map(ToString::to_string).collect();
        let shown: Vec<&str> = shown.iter().map(|line| line.trim()).collect();
        assert_eq!(shown, ["1 +n", "q.sql", "1 --- gone", "1  kept"]);
    }

    const DIFF: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,4 @@\n fn a() {\n-    1\n+    2\n+    3\n }\n";

    #[test]
    fn numbers_signs_and_cap() {
        let shown = |cap| {
            render(DIFF, 40, cap, Theme::new(false))
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        };
        insta::assert_snapshot!(shown(20), @r#"
         9  fn a() {
        10 -    1
        10 +    2
        11 +    3
        12  }
        "#);
        assert!(shown(2).ends_with("… 3 more lines"));
        assert_eq!(counts(DIFF), (2, 1));
        let cut = format!("{DIFF}… 90 more lines not shown (+50 -40)\n");
        assert_eq!(counts(&cut), (52, 41));
        let shown =
            |cap| render(&cut, 60, cap, Theme::new(false)).iter().map(ToString::to_string).next_back();
        assert_eq!(shown(2).as_deref(), Some("     … 93 more lines"));
        assert_eq!(shown(20).as_deref(), Some("     … 90 more lines not shown (+50 -40)"));
    }

    #[test]
    fn wide_screens_show_both_sides() {
        let lines = render(DIFF, 120, 20, Theme::new(false));
        let shown: Vec<String> = lines
            .iter()
            .map(|line| line.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(shown, ["9 fn a() { │ 9 fn a() {", "10 - 1 │ 10 + 2", "│ 11 + 3", "12 } │ 12 }"]);
        assert!(lines.iter().all(|line| wrap::width(&line.to_string()) <= 120));
    }

    #[test]
    fn words_that_differ_are_marked() {
        let look = Look { name: ThemeName::Dark, depth: Depth::TrueColor, background: None };
        let theme = look.theme();
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@ -9 +9 @@\n-let a = 1;\n+let a = 2;\n";
        let marked: Vec<String> = render(diff, 60, 20, theme)
            .iter()
            .flat_map(|line| line.spans.clone())
            .filter(|span| [theme.changed_words(true), theme.changed_words(false)].contains(&span.style))
            .map(|span| span.content.into_owned())
            .collect();
        assert_eq!(marked, ["1", "2"]);
        let lines = |text: &str| (0..40).map(|n| format!("{text} {n} = 1;\n")).collect::<String>();
        let rewrite = format!("@@ -1,40 +1,40 @@\n{}{}", lines("-let a"), lines("+let b"));
        let all = render(&rewrite, 60, 100, theme);
        let wide = render(&rewrite, 120, 12, theme);
        let mut styles = all.iter().chain(&wide).flat_map(|line| &line.spans).map(|span| span.style);
        assert!(styles.all(|style| style != theme.changed_words(true)), "a rewrite has no marks");
        let cut: Vec<String> = render(&rewrite, 60, 6, theme).iter().map(ToString::to_string).collect();
        assert_eq!(cut[2..5], ["   3 -let a 2 = 1;", "     … 37 more lines", "   1 +let b 0 = 1;"]);
        let code = render("+++ b/x.rs\n@@ -1 +1 @@\n fn a() {}\n", 60, 20, theme);
        assert!(code[0].spans.iter().any(|span| span.style == theme.syntax(scanner::Role::Keyword)));
    }
}

#[cfg(test)]
mod changed_words_tests {
    use super::*;

    fn marked(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (removed, added) = changed_words(old, new);
        let of = |ranges: Vec<Range<usize>>, line: &str| {
            ranges.into_iter().map(|range| line[range].to_owned()).collect()
        };
        (of(removed, old), of(added, new))
    }

    #[test]
    fn words_not_lines() {
        let (old, new) = marked("let width = size(2);", "let height = size(40);");
        assert_eq!((old, new), (vec!["width".into(), "2".into()], vec!["height".into(), "40".into()]));
        assert_eq!(marked("a", "completely different"), (vec![], vec![]));
        assert_eq!(marked(&"x ".repeat(600), "x"), (vec![], vec![]));
    }
}
