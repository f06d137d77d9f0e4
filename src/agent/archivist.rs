//! The archivist: old rounds leave the window and a summary takes their place, with the recorded facts beside it.

use std::sync::Arc;

use super::control::{Events, TurnControl};
use super::core::Core;
use crate::context::compress::summary::SummaryCompressor;
use crate::context::history::entry::Entry;
use crate::context::history::relief;
use crate::model::item::ItemId;
use crate::protocol::event::{Event, Level};
use crate::session::log::LogError;

/// What a summary itself is taken to need, in tokens.
const SUMMARY_TOKENS: u64 = 1_500;
/// Failures in a row after which summaries are no longer tried by themselves.
pub const MAX_FAILURES: u32 = 2;

/// What became of an attempt to archive old rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archived {
    Done,
    /// Only rounds that stay.
    Nothing,
    /// Interrupted.
    Stopped,
    /// The summary would have been no smaller than the rounds.
    NotSmaller,
}

impl Core {
    /// Replaces old rounds by a summary.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn archive_rounds(
        &mut self,
        control: &Arc<TurnControl>,
        events: &Events,
        focus: Option<String>,
    ) -> Result<Archived, LogError> {
        let Some(before) = self.archive_cut(focus.is_some()) else { return Ok(Archived::Nothing) };
        let entries: Vec<Entry> = self
            .conversation
            .history
            .entries()
            .iter()
            .take_while(|entry| entry.id != before)
            .cloned()
            .collect();
        let was: u64 = entries.iter().map(|entry| u64::from(entry.tokens())).sum();
        let writer = self.summariser();
        let _ = events.send(Event::Compacting { running: true });
        // On its own task: a stalled server can neither block the loop nor the exit.
        let mut task = tokio::spawn(async move { writer.summarise(entries, focus).await });
        let done = tokio::select! {
            done = &mut task => done.ok(),
            () = control.cancel.cancelled() => {
                task.abort();
                None
            }
        };
        let _ = events.send(Event::Compacting { running: false });
        let Some(done) = done else { return Ok(Archived::Stopped) };
        let now = u64::from(crate::context::budget::tokens::estimate(&done.summary.text));
        if now >= was {
            self.summary_failures += 1;
            return Ok(Archived::NotSmaller);
        }
        if let Some(reason) = &done.fallback {
            self.summary_failures += 1;
            let more = if self.summary_failures >= MAX_FAILURES {
                " Automatic summaries are off now; /compact tries again."
            } else {
                ""
            };
            let _ = events.send(Event::Notice {
                level: Level::Warning,
                text: format!("Older rounds were replaced by recorded facts only: {reason}.{more}"),
            });
        } else {
            self.summary_failures = 0;
        }
        self.conversation.archive(before, done.summary, "compaction")?;
        Ok(Archived::Done)
    }

    /// Where to cut: as many recent rounds stay as the low-water mark allows, at least two unless there is only one
    /// finished round; `min_retain_rounds` is kept when that suffices.
    fn archive_cut(&self, wanted: bool) -> Option<ItemId> {
        let history = &self.conversation.history;
        let rounds = history.rounds();
        let most =
            if wanted { 2 } else { self.context.min_retain_rounds.min(rounds.len().saturating_sub(1)) };
        let fixed = self.size().saturating_sub(self.conversation.calibration.apply(history.tokens()));
        let kept = |retain: usize| -> u64 {
            let from = rounds.get(rounds.len().saturating_sub(retain)).map_or(0, |range| range.start);
            history.entries()[from..].iter().map(|entry| u64::from(entry.tokens())).sum()
        };
        let fits = |retain: usize| {
            fixed + SUMMARY_TOKENS + self.conversation.calibration.apply(kept(retain)) <= self.low_water()
        };
        let retain = (2..=most.max(2)).rev().find(|&retain| fits(retain)).unwrap_or(2);
        relief::archive_before(history, retain)
            .or_else(|| relief::archive_before(history, 1).filter(|_| wanted || !fits(2)))
    }

    fn summariser(&self) -> SummaryCompressor {
        let mut params = self.params.clone();
        if let Some(light) = &self.light_model {
            params.model = Arc::clone(light);
        }
        params.max_output_tokens =
            Some(u32::try_from(self.context.window_tokens / 8).unwrap_or(4_000).min(4_000));
        SummaryCompressor {
            provider: Arc::clone(&self.provider),
            params,
            timeout: std::time::Duration::from_secs(self.context.summary_timeout_s),
            window_tokens: self.context.window_tokens,
        }
    }
}
