//! Shows how the most similar part of a file differs from an old text that wasn't found. Equal lines are left
//! out, because the model would just send them again.

use super::lines::{Lines, is_blank, trim_tail, visible};
use base::text::elide;

/// Rows shown: each is a file line, a given line, or a pair.
const ROWS: usize = 6;
const SHOWN_CHARS: usize = 160;
/// Lines of the old text and of the file used in the search.
const COMPARED_OLD: usize = 12;
const COMPARED_LINES: usize = 60_000;
const ALIGNED: usize = 40;
/// How many additional file lines the alignment may skip.
const SLACK: usize = 16;
const CANDIDATES: usize = 12;
/// Minimum similarity of texts, and of two versions of a line.
const NEAR: f64 = 0.45;

/// Indexes of a file line, an old-text line, or two aligned ones.
type Pair = (Option<usize>, Option<usize>);

/// The text most similar to `old`, as a diff; `None` if nothing is similar.
pub(super) fn nearest(lines: &Lines, old: &str) -> Option<String> {
    let given: Vec<&str> = old.lines().collect();
    let said = given.iter().take(ALIGNED).filter(|line| !is_blank(line)).count();
    let score = |first: usize| {
        let pairs = align(lines, first.saturating_sub(2), &given[..given.len().min(ALIGNED)], false);
        let likeness = pairs.iter().filter_map(|(real, old)| {
            let (real, old) = (lines.content((*real)?), given[(*old)?]);
            (!is_blank(old)).then(|| strsim::normalized_levenshtein(&start(real), &start(old)))
        });
        let total: f64 = likeness.sum();
        (total / said.max(1) as f64, pairs)
    };
    let scored = candidates(lines, &given).into_iter().map(score);
    let (likeness, pairs) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (real, old) = pairs.iter().find_map(|(real, old)| Some(((*real)?, (*old)?)))?;
    (likeness >= NEAR).then(|| {
        let (first, last, same, shown) = differences(lines, real.saturating_sub(old), &given);
        let place = line_range(first, last);
        let same = match same {
            0 => String::new(),
            1 => "; line 1 of old_string is the same".to_owned(),
            count => format!("; lines 1-{count} of old_string are the same"),
        };
        format!("the most similar text is at {place}{same}. The difference (· space, → tab):\n{shown}")
    })
}

/// How `old` differs from the file's lines starting at `first`.
pub(super) fn beside(lines: &Lines, first: usize, old: &str) -> String {
    let (.., shown) = differences(lines, first, &old.lines().collect::<Vec<_>>());
    format!("The difference (· space, → tab):\n{shown}")
}

/// `line 3`, `lines 3-9`; from 0-based indexes.
pub(super) fn line_range(first: usize, last: usize) -> String {
    if first >= last { format!("line {}", first + 1) } else { format!("lines {}-{}", first + 1, last + 1) }
}

/// `taken` (first and last index) contains `new`; it must be more similar to `old` than any other place.
pub(super) fn is_place_of(lines: &Lines, old: &str, new: &str, taken: &[(usize, usize)]) -> bool {
    let bare = |line: &str| line.chars().filter(|c| !c.is_whitespace()).take(SHOWN_CHARS).collect::<String>();
    let said = |text: &str| text.lines().map(bare).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let (given, becomes) = (said(old), said(new));
    // Some line must be unchanged; otherwise `new` must be similar to `old`.
    let stays = given.iter().any(|line| becomes.contains(line));
    let likeness = |other: &[String]| {
        let pairs = given.iter().zip(other);
        let sum: f64 = pairs.map(|(given, other)| strsim::normalized_levenshtein(given, other)).sum();
        sum / given.len().max(1) as f64
    };
    let likeness_now = likeness(&becomes);
    if !stays && likeness_now < NEAR {
        return false;
    }
    let elsewhere = |first: &usize| {
        let end = first + old.lines().count();
        taken.iter().all(|(from, to)| *first > *to || end <= *from)
    };
    let quoted: Vec<&str> = old.lines().collect();
    !candidates(lines, &quoted).into_iter().filter(elsewhere).any(|first| {
        let there = (first..lines.count()).map(|line| bare(lines.content(line)));
        likeness(&there.filter(|line| !line.is_empty()).take(given.len()).collect::<Vec<_>>())
            >= likeness_now.max(NEAR)
    })
}

fn candidates(lines: &Lines, given: &[&str]) -> Vec<usize> {
    let count = lines.count().min(COMPARED_LINES);
    let said = || given.iter().enumerate().filter(|(_, line)| !is_blank(line));
    let step = said().count().div_ceil(COMPARED_OLD).max(1);
    let wanted: Vec<(usize, &str)> = said().step_by(step).map(|(offset, line)| (offset, *line)).collect();
    let mut alike: Vec<(f64, usize)> = (0..count)
        .map(|first| {
            let at = |offset: usize| lines.get(first + offset);
            let rough = wanted.iter().filter_map(|(offset, line)| Some(rough_likeness(at(*offset)?, line)));
            (rough.sum(), first)
        })
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    alike.iter().take(CANDIDATES).map(|(_, first)| *first).collect()
}

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

fn start(line: &str) -> String {
    elide(line.trim(), 240)
}

/// Drops unpaired lines of the file at the end, and at the start unless `together`.
fn align(lines: &Lines, first: usize, given: &[&str], together: bool) -> Vec<Pair> {
    let real: Vec<&str> =
        (first..lines.count()).take(given.len() + SLACK).map(|at| lines.content(at)).collect();
    let value = |real: &str, given: &str| match (is_blank(real), is_blank(given)) {
        (true, true) => 0.1,
        // One unchanged line is worth more than two changed ones.
        (false, false) if real.trim() == given.trim() => 2.0,
        (false, false) => Some(strsim::sorensen_dice(&start(real), &start(given)))
            .filter(|like| *like >= NEAR)
            .unwrap_or(0.0),
        _ => 0.0,
    };
    let values: Vec<Vec<f64>> =
        real.iter().map(|real| given.iter().map(|given| value(real, given)).collect()).collect();
    let mut best = vec![vec![0.0_f64; given.len() + 1]; real.len() + 1];
    for r in (0..real.len()).rev() {
        for g in (0..given.len()).rev() {
            let paired = if values[r][g] > 0.0 { values[r][g] + best[r + 1][g + 1] } else { 0.0 };
            best[r][g] = paired.max(best[r + 1][g]).max(best[r][g + 1]);
        }
    }
    let (mut r, mut g) = (0, 0);
    let mut pairs = Vec::new();
    while r < real.len() && g < given.len() {
        let value = values[r][g];
        if value > 0.0 && best[r][g] <= value + best[r + 1][g + 1] {
            pairs.push((Some(first + r), Some(g)));
            (r, g) = (r + 1, g + 1);
        } else if best[r + 1][g] >= best[r][g] {
            pairs.push((Some(first + r), None));
            r += 1;
        } else {
            pairs.push((None, Some(g)));
            g += 1;
        }
    }
    pairs.extend((g..given.len()).map(|g| (None, Some(g))));
    let has_partner = |pair: &Pair| pair.0.is_some() && pair.1.is_some();
    let from = if together { 0 } else { pairs.iter().position(has_partner).unwrap_or(0) };
    let to = pairs.iter().rposition(has_partner).map_or(0, |at| at + 1);
    let kept = |(at, pair): &(usize, Pair)| (from..to).contains(at) || pair.1.is_some();
    pairs.into_iter().enumerate().filter(kept).map(|(_, pair)| pair).collect()
}

/// First and last file line, number of equal lines at the start, and the differences.
fn differences(lines: &Lines, first: usize, given: &[&str]) -> (usize, usize, usize, String) {
    let same = same_lines(lines, first, given);
    let from = if same == 0 { first.saturating_sub(2) } else { first + same };
    let rest = &given[same..given.len().min(same + ALIGNED)];
    let pairs: Vec<Pair> = align(lines, from, rest, same > 0)
        .into_iter()
        .map(|(real, old)| (real, old.map(|old| old + same)))
        .collect();
    let reals = || pairs.iter().filter_map(|pair| pair.0);
    let start = if same > 0 { first } else { reals().next().unwrap_or(first) };
    let end = reals().next_back().unwrap_or((first + same).saturating_sub(1)).max(start);
    // Show indentation differences only if there are no others, because the block may be shifted as a whole.
    let apart = |pair: &&Pair| match **pair {
        (Some(real), Some(old)) => !is_same(lines.content(real), old, given),
        _ => true,
    };
    let indented = |pair: &&Pair| match **pair {
        (Some(real), Some(old)) => lines.content(real).trim() == given[old].trim(),
        _ => false,
    };
    let all: Vec<&Pair> = pairs.iter().filter(apart).collect();
    let worded: Vec<&Pair> = all.iter().copied().filter(|pair| !indented(pair)).collect();
    let shown = if worded.is_empty() { all } else { worded };
    let mut text: Vec<String> = shown.iter().take(ROWS).map(|pair| row(lines, given, **pair)).collect();
    if shown.len() > ROWS {
        text.push(format!("… {} more lines differ", shown.len() - ROWS));
    }
    (start, end, same, text.join("\n"))
}

/// How many lines from `first` are equal, ignoring a uniform indentation shift.
fn same_lines(lines: &Lines, first: usize, given: &[&str]) -> usize {
    let count = |same: &dyn Fn(&str, usize) -> bool| {
        (0..given.len()).take_while(|at| lines.get(first + at).is_some_and(|real| same(real, *at))).count()
    };
    let to_the_letter = count(&|real, at| is_same(real, at, given));
    let but_indented = count(&|real, at| {
        let (real, old) = (trim_tail(real), trim_tail(given[at]));
        real.trim() == old.trim() && (real.ends_with(old) || old.ends_with(real))
    });
    let indents = (0..but_indented).filter(|at| !is_blank(given[*at])).map(|at| {
        let indent = |line: &str| trim_tail(line).len() - line.trim().len();
        indent(lines.content(first + at)).wrapping_sub(indent(given[at]))
    });
    let mut indents: Vec<usize> = indents.collect();
    indents.dedup();
    if indents.len() <= 1 { to_the_letter.max(but_indented) } else { to_the_letter }
}

/// The old text may begin and end in the middle of a line.
fn is_same(real: &str, at: usize, given: &[&str]) -> bool {
    let (real, old) = (trim_tail(real), trim_tail(given[at]));
    match (at == 0, at + 1 == given.len()) {
        (true, true) => real.contains(old),
        (true, false) => real.ends_with(old),
        (false, true) => real.starts_with(old),
        (false, false) => real == old,
    }
}

fn row(lines: &Lines, given: &[&str], pair: Pair) -> String {
    let shown = |line: &str| elide(&visible(line), SHOWN_CHARS);
    let in_file = |real: usize, line: &str| format!("file line {}: {}", real + 1, shown(line));
    let in_old = |old: usize, line: &str| format!("old_string line {}: {}", old + 1, shown(line));
    match pair {
        (Some(real), Some(old)) => {
            let (line, given) = around_difference(lines.content(real), given[old]);
            format!("{}\n{}", in_file(real, &line), in_old(old, &given))
        }
        (Some(real), None) => format!("{} (not in old_string)", in_file(real, lines.content(real))),
        (None, old) => {
            let old = old.unwrap_or_default();
            format!("{} (not in the file)", in_old(old, given[old]))
        }
    }
}

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
