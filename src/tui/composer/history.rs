//! Drafts that were sent or cleared, for Up and Down.

use super::paste::Pastes;

/// Drafts that are kept.
const LIMIT: usize = 200;

/// A text with its folded pastes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    pub pastes: Pastes,
}

/// Past drafts, oldest first, and the place while browsing.
#[derive(Clone, Debug, Default)]
pub struct PromptHistory {
    drafts: Vec<Draft>,
    /// Index of the shown draft, and what was being written before.
    browsing: Option<(usize, Draft)>,
}

impl PromptHistory {
    /// Adds a draft and ends browsing.
    pub fn push(&mut self, draft: Draft) {
        self.browsing = None;
        if draft.text.trim().is_empty() || self.drafts.last() == Some(&draft) {
            return;
        }
        if self.drafts.len() == LIMIT {
            self.drafts.remove(0);
        }
        self.drafts.push(draft);
    }

    /// The draft before the shown one; `current` is kept for the way back.
    pub fn older(&mut self, current: Draft) -> Option<Draft> {
        let (index, kept) = match self.browsing.take() {
            Some((index, kept)) => (index, kept),
            None => (self.drafts.len(), current),
        };
        let older = index.checked_sub(1).and_then(|older| self.drafts.get(older).cloned());
        self.browsing = (index < self.drafts.len() || older.is_some())
            .then_some((if older.is_some() { index - 1 } else { index }, kept));
        older
    }

    /// The draft after the shown one, and at the end what was being written.
    pub fn newer(&mut self) -> Option<Draft> {
        let (index, kept) = self.browsing.take()?;
        match self.drafts.get(index + 1) {
            Some(draft) => {
                let draft = draft.clone();
                self.browsing = Some((index + 1, kept));
                Some(draft)
            }
            None => Some(kept),
        }
    }

    /// The draft that was pushed last.
    pub fn last(&self) -> Option<&Draft> {
        self.drafts.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft { text: text.to_owned(), pastes: Pastes::default() }
    }

    #[test]
    fn history_round_trip() {
        let mut history = PromptHistory::default();
        history.push(draft("one"));
        history.push(draft("two"));
        assert_eq!(history.older(draft("new")), Some(draft("two")));
        assert_eq!(history.older(draft("two")), Some(draft("one")));
        assert_eq!(history.older(draft("one")), None);
        assert_eq!(history.newer(), Some(draft("two")));
        assert_eq!(history.newer(), Some(draft("new")));
        assert_eq!(history.newer(), None);
    }
}
