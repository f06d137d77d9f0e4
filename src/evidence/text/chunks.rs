//! Cutting a file into pieces of about a screen, so that the best piece of a long file can be told from the whole.

/// A piece is not ended before so many lines, and then at the next blank line or definition at the margin.
const MIN_LINES: usize = 40;
const MAX_LINES: usize = 80;
const MAX_BYTES: usize = 4_000;

/// Cuts `text` at line ends; calls `each` with the number of the piece's first line (from 1) and the piece.
pub fn cut<'a>(text: &'a str, mut each: impl FnMut(u32, &'a str)) {
    let mut start = 0;
    let mut first_line = 1_u32;
    let mut lines = 0_usize;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let margin = line.trim_end().is_empty() || !line.starts_with([' ', '\t', '}', ')', ']']);
        let full = lines >= MIN_LINES && margin
            || lines >= MAX_LINES
            || at - start + line.len() > MAX_BYTES && lines > 0;
        if full {
            each(first_line, &text[start..at]);
            start = at;
            first_line += lines as u32;
            lines = 0;
        }
        at += line.len();
        lines += 1;
    }
    if start < text.len() {
        each(first_line, &text[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_text_in_order() {
        let text: String =
            (0..500).map(|n| if n % 7 == 0 { "\n".into() } else { format!("    line {n}\n") }).collect();
        let mut joined = String::new();
        let mut next = 1;
        cut(&text, |line, piece| {
            assert_eq!(line, next);
            next += piece.lines().count() as u32;
            assert!(piece.lines().count() <= MAX_LINES);
            joined.push_str(piece);
        });
        assert_eq!(joined, text);
        cut("", |_, _| unreachable!());
    }
}
