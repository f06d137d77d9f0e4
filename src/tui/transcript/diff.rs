//! Colors a unified diff, with line numbers, up to a cap.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::diff_cut::DiffCut;
use crate::base::sanitize;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

/// Lines of `diff`, at most `cap` of them, then how many more there are.
pub fn render(diff: &str, width: usize, cap: usize, theme: Theme) -> Vec<Line<'static>> {
    let text = sanitize::clean(diff);
    let mut lines = Vec::new();
    let mut shown = 0;
    let mut hidden = 0;
    let (mut old, mut new) = (0usize, 0usize);
    for (index, line) in text.lines().enumerate() {
        if let Some((old_start, new_start)) = hunk_starts(line) {
            // The gap between two hunks; the first needs no mark.
            if old > 0 && shown < cap {
                lines.push(Line::styled("     ⋮", theme.dim()));
            }
            (old, new) = (old_start, new_start);
            continue;
        }
        if is_header(line, index, old + new) {
            continue;
        }
        if let Some(cut) = DiffCut::read(line) {
            if shown < cap {
                lines.push(Line::styled(format!("     {line}"), theme.warning()));
            } else {
                hidden += cut.lines;
            }
            continue;
        }
        let (number, sign, style, rest) = match line.as_bytes().first() {
            Some(b'+') => (new, '+', theme.good(), &line[1..]),
            Some(b'-') => (old, '-', theme.bad(), &line[1..]),
            Some(b'\\') => continue,
            Some(b' ') => (new, ' ', theme.dim(), &line[1..]),
            _ => (new, ' ', theme.dim(), line),
        };
        old += usize::from(sign != '+');
        new += usize::from(sign != '-');
        if shown == cap {
            hidden += 1;
            continue;
        }
        shown += 1;
        lines.extend(row(number, sign, style, rest, width, theme));
    }
    if hidden > 0 {
        lines.push(Line::styled(
            format!("     … {}", crate::base::text::plural(hidden, "more line")),
            theme.dim(),
        ));
    }
    lines
}

/// Added and removed lines.
pub fn counts(diff: &str) -> (usize, usize) {
    let (mut added, mut removed, mut in_hunk) = (0, 0, false);
    for line in diff.lines() {
        if line.starts_with("@@") {
            in_hunk = true;
        } else if !in_hunk && (line.starts_with("+++") || line.starts_with("---")) {
        } else if line.starts_with('+') {
            added += 1;
        } else if line.starts_with('-') {
            removed += 1;
        } else if let Some(cut) = DiffCut::read(line) {
            added += cut.added;
            removed += cut.removed;
        }
    }
    (added, removed)
}

fn is_header(line: &str, index: usize, numbers: usize) -> bool {
    numbers == 0
        && index < 4
        && ["--- ", "+++ ", "diff ", "index "].iter().any(|start| line.starts_with(start))
}

fn row(
    number: usize,
    sign: char,
    style: Style,
    text: &str,
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let gutter = if number > 0 { format!("{number:>4} ") } else { "     ".to_owned() };
    let first = [Span::styled(gutter, theme.dim()), Span::styled(sign.to_string(), style)];
    let rest = [Span::raw("      ".to_owned())];
    wrap::wrap_spans(&[Span::styled(text.to_owned(), style)], &first, &rest, width)
}

/// The first line numbers of `@@ -12,3 +14,5 @@`.
fn hunk_starts(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let number = |part: &str| part.split(',').next().and_then(|digits| digits.parse().ok());
    let old = number(parts.next()?)?;
    let new = number(parts.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
