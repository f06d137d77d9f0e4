//! The last line of a unified diff that was too large to keep: how many lines of it are missing and what they did, so that
//! nobody takes the rest for all there is. One place writes it and the front ends read it; it knows neither.

use super::text::plural;

/// What is missing at the end of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffCut {
    pub lines: usize,
    pub added: usize,
    pub removed: usize,
}

impl DiffCut {
    /// Counts the lines that are left out.
    pub fn of(left_out: &str) -> Self {
        let signed =
            |sign: u8| left_out.lines().filter(|line| line.as_bytes().first() == Some(&sign)).count();
        Self { lines: left_out.lines().count(), added: signed(b'+'), removed: signed(b'-') }
    }

    /// As a line of its own; a diff's other lines never begin so.
    pub fn line(self) -> String {
        let Self { lines, added, removed } = self;
        format!("… {} not shown (+{added} -{removed})", plural(lines, "more line"))
    }

    /// Reads what [`DiffCut::line`] wrote.
    pub fn read(line: &str) -> Option<Self> {
        let (lines, rest) = line.strip_prefix("… ")?.split_once(" more line")?;
        let (added, removed) = rest.split_once("(+")?.1.strip_suffix(')')?.split_once(" -")?;
        Some(Self { lines: lines.parse().ok()?, added: added.parse().ok()?, removed: removed.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_cut_round_trip() {
        let cut = DiffCut::of("+a\n-b\n c\n+d\n");
        assert_eq!(cut, DiffCut { lines: 4, added: 2, removed: 1 });
        assert_eq!(cut.line(), "… 4 more lines not shown (+2 -1)");
        assert_eq!(DiffCut::read(&cut.line()), Some(cut));
        assert_eq!(
            DiffCut::read(&DiffCut::of("+a").line()),
            Some(DiffCut { lines: 1, added: 1, removed: 0 })
        );
        assert_eq!(DiffCut::read("+… 4 more lines not shown (+2 -1)"), None);
        assert_eq!(DiffCut::read("… 4 more"), None);
    }
}
