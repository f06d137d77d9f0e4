//! A text as lines with their own line ends, so that mixed ones survive.

/// A final line feed ends the last line and doesn't start another.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut starts = Vec::with_capacity(text.len() / 24 + 1);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            starts.push(at);
            at += line.len();
        }
        Self { text, starts }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Byte offset of line `index`; the text's length for one past the last.
    pub fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.text.len())
    }

    pub fn whole(&self, index: usize) -> &'a str {
        &self.text[self.start(index)..self.start(index + 1)]
    }

    pub fn content(&self, index: usize) -> &'a str {
        split_end(self.whole(index)).0
    }

    pub fn get(&self, index: usize) -> Option<&'a str> {
        (index < self.count()).then(|| self.content(index))
    }

    pub fn ending(&self, index: usize) -> &'a str {
        split_end(self.whole(index)).1
    }

    pub fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at).saturating_sub(1)
    }

    /// The line end to use at byte `at`: that line's, the previous line's, or the most frequent one.
    pub fn ending_near(&self, at: usize) -> &'a str {
        let line = self.line_of(at);
        let near = [Some(line), line.checked_sub(1)];
        let near =
            near.into_iter().flatten().map(|index| self.ending(index)).find(|ending| !ending.is_empty());
        near.unwrap_or_else(|| {
            let crlf = self.text.matches("\r\n").count();
            let all = self.text.matches('\n').count();
            if crlf * 2 > all { "\r\n" } else { "\n" }
        })
    }
}

pub fn split_end(line: &str) -> (&str, &str) {
    let content = line.strip_suffix('\n').map_or(line, |rest| rest.strip_suffix('\r').unwrap_or(rest));
    line.split_at(content.len())
}

pub fn trim_tail(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

pub fn is_blank(line: &str) -> bool {
    trim_tail(line).is_empty()
}

/// Makes whitespace visible: `·` space, `→` tab, `␍` carriage return; no-break and zero-width characters by code.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            ' ' => shown.push('·'),
            '\t' => shown.push('→'),
            '\r' => shown.push('␍'),
            '\n' => shown.push('⏎'),
            '\u{a0}'
            | '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{2060}'
            | '\u{3000}'
            | '\u{feff}' => {
                shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            c if c.is_control() => shown.push_str(&format!("<U+{:04X}>", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_known_line_by_line() {
        let lines = Lines::new("a\r\nb\nc");
        assert_eq!(lines.count(), 3);
        assert_eq!((lines.content(0), lines.ending(0)), ("a", "\r\n"));
        assert_eq!((lines.content(2), lines.ending(2)), ("c", ""));
        assert_eq!((lines.line_of(0), lines.line_of(3), lines.line_of(6)), (0, 1, 2));
        assert_eq!(lines.ending_near(5), "\n");
        assert_eq!(Lines::new("").count(), 0);
        assert_eq!(Lines::new("x\n").count(), 1);
        assert_eq!(visible("\t a\r"), "→·a␍");
    }
}
