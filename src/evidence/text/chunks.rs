//! Cuts a file into passages of about a screen, so that the best part of a long file can be ranked.

/// A passage has at least this many lines and ends at the next blank line or unindented definition.
const MIN_LINES: usize = 40;
const MAX_LINES: usize = 80;
const MAX_BYTES: usize = 4_000;

pub fn cut<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let mut start = 0;
    let mut lines = 0_usize;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let margin = line.trim_end().is_empty() || !line.starts_with([' ', '\t', '}', ')', ']']);
        let full = lines >= MIN_LINES && margin
            || lines >= MAX_LINES
            || at - start + line.len() > MAX_BYTES && lines > 0;
        if full {
            each(&text[start..at]);
            start = at;
            lines = 0;
        }
        at += line.len();
        lines += 1;
    }
    if start < text.len() {
        each(&text[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_cover_the_text() {
        let text: String =
            (0..500).map(|n| if n % 7 == 0 { "\n".into() } else { format!("    line {n}\n") }).collect();
        let mut joined = String::new();
        cut(&text, |passage| {
            assert!(passage.lines().count() <= MAX_LINES);
            joined.push_str(passage);
        });
        assert_eq!(joined, text);
        cut("", |_| unreachable!());
    }
}
