//! Word differences of a changed line; lines that are too long or too different aren't compared.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

const MOST_BYTES: usize = 1_000;

/// The differing ranges of `old` and `new`; empty if too little is left of the old line.
pub fn between(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len() > MOST_BYTES || new.len() > MOST_BYTES {
        return Default::default();
    }
    let (old_words, new_words) = (words(old), words(new));
    let text = |words: &[Range<usize>], line: &'_ str| -> Vec<String> {
        words.iter().map(|word| line[word.clone()].to_owned()).collect()
    };
    let operations = capture_diff_slices(Algorithm::Myers, &text(&old_words, old), &text(&new_words, new));
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut same = 0;
    for operation in operations {
        if let DiffOp::Equal { old_index, len, .. } = operation {
            let kept = &old_words[old_index..old_index + len];
            same += kept.iter().map(|word| old[word.clone()].trim().len()).sum::<usize>();
            continue;
        }
        push(&mut removed, &old_words[operation.old_range()]);
        push(&mut added, &new_words[operation.new_range()]);
    }
    let most = old.trim().len().max(new.trim().len());
    // Changed if at least a third stayed; otherwise replaced.
    if same * 3 < most { Default::default() } else { (removed, added) }
}

fn push(ranges: &mut Vec<Range<usize>>, words: &[Range<usize>]) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    match ranges.last_mut() {
        Some(before) if before.end == first.start => before.end = last.end,
        _ => ranges.push(first.start..last.end),
    }
}

fn words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut in_word = false;
    for (at, c) in line.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(last) if is_word && in_word => last.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
        in_word = is_word;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (removed, added) = between(old, new);
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
