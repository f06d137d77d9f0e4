//! Whether a further message is about the task at hand or about a new one (SPEC §7).

use super::keywords::{Keyword, overlap};

/// More shared words than this: still the same task.
const SAME_TASK: f64 = 0.5;
/// Fewer words than this ask for nothing new ("yes", "go on").
const MIN_NEW_WORDS: usize = 2;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A task of its own.
    NewTask,
    /// It goes on with what was asked before, or says nothing of files.
    FollowUp,
}

/// Judges `now` against what was asked so far.
pub fn judge(before: &[Keyword], now: &[Keyword]) -> Turn {
    let fresh = now.iter().filter(|keyword| !before.iter().any(|known| known.text == keyword.text));
    let fresh: Vec<&Keyword> = fresh.collect();
    let says_little = fresh.len() < MIN_NEW_WORDS && !fresh.iter().any(|keyword| keyword.strong);
    if says_little || overlap(before, now) > SAME_TASK { Turn::FollowUp } else { Turn::NewTask }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::keywords::extract;
    use crate::evidence::rank::query::Query;

    #[test]
    fn follow_ups_are_told_from_new_tasks() {
        let words = |text: &str| extract(&Query::parse(text));
        let first = words("The basket total ignores the voucher");
        assert_eq!(judge(&[], &first), Turn::NewTask);
        assert_eq!(judge(&first, &words("yes, go on")), Turn::FollowUp);
        assert_eq!(judge(&first, &words("")), Turn::FollowUp);
        assert_eq!(
            judge(&first, &words("the voucher of the basket is still ignored in the total")),
            Turn::FollowUp
        );
        assert_eq!(judge(&first, &words("Login page: session cookie expires early")), Turn::NewTask);
    }
}
