//! The last line of a truncated unified diff: how many lines are missing and what they did, so that the rest
//! isn't taken for the whole. Front ends parse it.

use crate::text::plural;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffCut {
    pub lines: usize,
    pub added: usize,
    pub removed: usize,
}

impl DiffCut {
    pub fn of(left_out: &str) -> Self {
        let signed =
            |sign: u8| left_out.lines().filter(|line| line.as_bytes().first() == Some(&sign)).count();
        Self { lines: left_out.lines().count(), added: signed(b'+'), removed: signed(b'-') }
    }

    /// No other line of a diff begins like this.
    pub fn line(self) -> String {
        let Self { lines, added, removed } = self;
        format!("… {} not shown (+{added} -{removed})", plural(lines, "more line"))
    }

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
