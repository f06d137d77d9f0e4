//! Sent or cleared drafts for Up and Down, with pastes folded.

const LIMIT: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct PromptHistory {
    drafts: Vec<String>,
    browsing: Option<(usize, String)>,
}

impl PromptHistory {
    pub fn push(&mut self, draft: String) {
        self.browsing = None;
        if draft.trim().is_empty() || self.drafts.last() == Some(&draft) {
            return;
        }
        if self.drafts.len() == LIMIT {
            self.drafts.remove(0);
        }
        self.drafts.push(draft);
    }

    pub fn older(&mut self, current: String) -> Option<String> {
        let (index, kept) = match self.browsing.take() {
            Some((index, kept)) => (index, kept),
            None => (self.drafts.len(), current),
        };
        let older = index.checked_sub(1).and_then(|older| self.drafts.get(older).cloned());
        self.browsing = (index < self.drafts.len() || older.is_some())
            .then_some((if older.is_some() { index - 1 } else { index }, kept));
        older
    }

    pub fn newer(&mut self) -> Option<String> {
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

    pub fn last(&self) -> Option<&str> {
        self.drafts.last().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn history_round_trip() {
        let mut history = PromptHistory::default();
        history.push(text("one"));
        history.push(text("two"));
        assert_eq!(history.older(text("new")), Some(text("two")));
        assert_eq!(history.older(text("two")), Some(text("one")));
        assert_eq!(history.older(text("one")), None);
        assert_eq!(history.newer(), Some(text("two")));
        assert_eq!(history.newer(), Some(text("new")));
        assert_eq!(history.newer(), None);
    }
}
