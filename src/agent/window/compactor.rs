//! The archivist: old rounds leave the window and a summary takes their place, with the recorded facts beside it. The
//! summary is begun beside the session before it is needed, so that nobody waits for it; when it is needed and not there
//! yet, it is waited for no longer than its own time-out, with a notice and open to interrupts. Without a usable one the
//! facts alone take the rounds' place at once.

use std::sync::Arc;

use super::summary_task::{SummaryTask, finished};
use crate::agent::control::{Events, TurnControl};
use crate::agent::core::Core;
use crate::context::compaction::policy;
use crate::context::history::entry::Entry;
use crate::context::summary::compressor::{self, SummaryCompressor, SummaryOutcome};
use crate::context::tokens::estimate;
use crate::model::item::{ItemId, Summary};
use crate::protocol::event::{Event, Level};
use crate::session::log::LogError;

/// What a summary itself is taken to need, in tokens.
const SUMMARY_TOKENS: u64 = 1_500;
/// Share of the limit, in tenths, at which a summary is begun.
const EARLY_TENTHS: u64 = 8;

/// What became of an attempt to archive old rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    Done,
    /// Only rounds that stay.
    Nothing,
    /// Interrupted.
    Stopped,
    /// The summary would have been no smaller than the rounds.
    NotSmaller,
}

impl Core {
    /// Begins a summary beside the session when the window gets full, well before it must be there.
    pub fn prepare_summary(&mut self) {
        let (size, limit) = (self.size(), policy::limit(&self.context));
        if self.archivist.resting() || size < limit * EARLY_TENTHS / 10 {
            return;
        }
        if self.archivist.job.as_ref().is_some_and(|job| self.still_holds(job)) {
            return;
        }
        // What will have come by then must find room too.
        if let Some(before) = self.archive_cut(false, limit.saturating_sub(size)) {
            self.archivist.job = Some(self.begin_summary(before, None));
        }
    }

    /// Replaces old rounds by a summary.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn archive_rounds(
        &mut self,
        control: &Arc<TurnControl>,
        events: &Events,
        focus: Option<String>,
    ) -> Result<CompactionOutcome, LogError> {
        let Some(before) = self.archive_cut(focus.is_some(), 0) else {
            return Ok(CompactionOutcome::Nothing);
        };
        if focus.is_none() && self.archivist.resting() {
            let summary = compressor::facts_only(&self.covered(before), self.context.window_tokens);
            return self.adopt_summary(before, summary);
        }
        let plain = focus.as_deref().is_none_or(|focus| focus.trim().is_empty());
        let prepared = self.archivist.job.take().filter(|job| plain && self.still_holds(job));
        let mut job = match prepared {
            Some(job) => job,
            None => self.begin_summary(before, focus.clone()),
        };
        loop {
            let Some(done) = finished(&mut job, control, events).await else {
                return Ok(CompactionOutcome::Stopped);
            };
            if let Some(usage) = &done.usage {
                self.conversation.spent_beside(&job_model(self), usage)?;
            }
            self.judge(&done, events);
            let landed = self.size_with(job.before, &done.summary) <= policy::low_water(&self.context);
            if done.fallback.is_none() && (landed || job.before == before) {
                return self.adopt_summary(job.before, done.summary);
            }
            if done.fallback.is_some() {
                // The facts are as good for today's cut as for the one that was planned.
                let summary = compressor::facts_only(&self.covered(before), self.context.window_tokens);
                return self.adopt_summary(before, summary);
            }
            job = self.begin_summary(before, focus.clone());
        }
    }

    /// Takes the last archive back: its entries return in the form that they had.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn unarchive(&mut self) -> Result<Result<u64, String>, LogError> {
        let Some(growth) = self.conversation.history.unarchive_growth() else {
            return Ok(Err(
                "There is no archive to take back: nothing was compacted in this session, or too long \
                           ago. Recall brings back single items."
                    .to_owned(),
            ));
        };
        let size = self.size() + self.conversation.calibration.apply(growth);
        let limit = policy::limit(&self.context);
        if size >= limit {
            return Ok(Err(format!(
                "That would take about {} tokens where {} have room; nothing was changed. Recall brings back single \
                 items, /model or context_window gives a larger window.",
                crate::base::text::human_tokens(size),
                crate::base::text::human_tokens(limit)
            )));
        }
        self.archivist.job = None;
        self.conversation.unarchive()?;
        Ok(Ok(size))
    }

    fn begin_summary(&self, before: ItemId, focus: Option<String>) -> SummaryTask {
        let entries = self.covered(before);
        let covers = entries.iter().map(|entry| entry.id).collect();
        let writer = self.summarizer();
        let task = tokio::spawn(async move { writer.summarize(entries, focus).await });
        SummaryTask { covers, before, task }
    }

    /// The entries in front of `before`.
    fn covered(&self, before: ItemId) -> Vec<Entry> {
        let entries = self.conversation.history.entries();
        entries.iter().take_while(|entry| entry.id != before).cloned().collect()
    }

    /// Whether the log up to the cut is what the summary was made from.
    fn still_holds(&self, job: &SummaryTask) -> bool {
        let entries = self.conversation.history.entries();
        entries.len() > job.covers.len()
            && entries.iter().zip(&job.covers).all(|(entry, id)| entry.id == *id)
            && entries[job.covers.len()].id == job.before
    }

    fn size_with(&self, before: ItemId, summary: &Summary) -> u64 {
        let was: u64 = self.covered(before).iter().map(|entry| u64::from(entry.tokens())).sum();
        let calibration = &self.conversation.calibration;
        self.size().saturating_sub(calibration.apply(was))
            + calibration.apply(u64::from(estimate::estimate(&summary.text)))
    }

    fn judge(&mut self, done: &SummaryOutcome, events: &Events) {
        let rests = self.archivist.count(done.fallback.is_none());
        let Some(reason) = &done.fallback else { return };
        let more = if rests {
            " Automatic summaries are off now, recorded facts take the place of old rounds; /compact tries again."
        } else {
            ""
        };
        let _ = events.send(Event::Notice {
            level: Level::Warning,
            text: format!("Older rounds were replaced by recorded facts only: {reason}.{more}"),
        });
    }

    fn adopt_summary(&mut self, before: ItemId, summary: Summary) -> Result<CompactionOutcome, LogError> {
        let was: u64 = self.covered(before).iter().map(|entry| u64::from(entry.tokens())).sum();
        if u64::from(estimate::estimate(&summary.text)) >= was {
            return Ok(CompactionOutcome::NotSmaller);
        }
        self.conversation.archive(before, summary, "compaction")?;
        Ok(CompactionOutcome::Done)
    }

    /// Where to cut: as many recent rounds stay as the low-water mark less `spare` tokens allows, at least two unless
    /// there is only one finished round; `min_retain_rounds` is kept when that suffices.
    fn archive_cut(&self, wanted: bool, spare: u64) -> Option<ItemId> {
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
            fixed + spare + SUMMARY_TOKENS + self.conversation.calibration.apply(kept(retain))
                <= policy::low_water(&self.context)
        };
        let retain = (2..=most.max(2)).rev().find(|&retain| fits(retain)).unwrap_or(2);
        history.archive_before(retain).or_else(|| history.archive_before(1).filter(|_| wanted || !fits(2)))
    }

    fn summarizer(&self) -> SummaryCompressor {
        let mut params = self.params.clone();
        params.model = job_model(self);
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

/// The model that writes summaries.
fn job_model(core: &Core) -> Arc<str> {
    Arc::clone(core.light_model.as_ref().unwrap_or(&core.params.model))
}
