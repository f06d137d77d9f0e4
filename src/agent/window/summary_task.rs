//! A summary that is written in its own task, which is aborted when it is no longer needed.

use tokio::task::JoinHandle;

use super::request::RequestSizes;
use crate::control::TurnControl;
use crate::sampling::sampler::Sampler;
use crate::session::conversation::Conversation;
use base::model::item::{ItemId, Summary};
use base::process::task;
use base::protocol::event::Event;
use context::compaction::policy;
use context::history::entry::HistoryEntry;
use context::session::log::LogError;
use context::session::record::CauseKind;
use context::summary::compressor::SummaryOutcome;
use context::tokens::estimate;

/// Assumed size of a summary, in tokens.
const SUMMARY_TOKENS: u64 = 1_500;

pub struct SummaryTask {
    /// The entries it covers. The summary is valid only if these come right before `before`.
    covers: Vec<ItemId>,
    pub before: ItemId,
    task: JoinHandle<SummaryOutcome>,
}

impl Drop for SummaryTask {
    fn drop(&mut self) {
        // A stalled server must not delay a turn or the exit.
        self.task.abort();
    }
}

impl SummaryTask {
    /// Starts a summary of everything before `before`; `focus` is what to keep in detail.
    pub fn begin(sizes: RequestSizes<'_>, sampler: &Sampler, before: ItemId, focus: Option<String>) -> Self {
        let entries = covered(sizes.conversation, before);
        let covers = entries.iter().map(|entry| entry.id).collect();
        let writer = sampler.summarizer(sizes.settings);
        let goal = sizes.conversation.state.history.goal().cloned();
        let task = task::spawn(async move { writer.summarize(entries, goal, focus).await });
        Self { covers, before, task }
    }

    /// Waits for the summary, up to its own timeout; `None` if interrupted.
    pub async fn finished(&mut self, control: &TurnControl) -> Option<SummaryOutcome> {
        let waits = !self.task.is_finished();
        if waits {
            let _ = control.events.send(Event::Compacting { running: true });
        }
        let done = tokio::select! {
            done = &mut self.task => done.ok(),
            () = control.cancel.cancelled() => None,
        };
        if waits {
            let _ = control.events.send(Event::Compacting { running: false });
        }
        done
    }

    /// Whether the history before the cut is still what the summary was made from.
    pub fn still_covers(&self, conversation: &Conversation) -> bool {
        let entries = conversation.state.history.entries();
        entries.len() > self.covers.len()
            && entries.iter().zip(&self.covers).all(|(entry, id)| entry.id == *id)
            && entries[self.covers.len()].id == self.before
    }
}

pub fn covered(conversation: &Conversation, before: ItemId) -> Vec<HistoryEntry> {
    let entries = conversation.state.history.entries();
    entries.iter().take_while(|entry| entry.id != before).cloned().collect()
}

pub fn covered_tokens(conversation: &Conversation, before: ItemId) -> u64 {
    covered(conversation, before).iter().map(|entry| u64::from(entry.tokens())).sum()
}

/// The next request's tokens with `summary` in place of the covered entries.
pub fn size_with(sizes: RequestSizes<'_>, before: ItemId, summary: &Summary) -> u64 {
    let was = covered_tokens(sizes.conversation, before);
    sizes.estimated().saturating_sub(sizes.calibrated(was)) + sizes.calibrated(tokens_of(summary))
}

pub fn tokens_of(summary: &Summary) -> u64 {
    u64::from(estimate::estimate(&summary.text))
}

/// Keeps as many rounds as the low-water mark minus `spare` allows, up to `min_retain_rounds` (two if `wanted`).
pub fn archive_cut(sizes: RequestSizes<'_>, wanted: bool, spare: u64) -> Option<ItemId> {
    let history = &sizes.conversation.state.history;
    let rounds = history.rounds();
    let most = if wanted { 2 } else { sizes.settings.min_retain_rounds.min(rounds.len().saturating_sub(1)) };
    let fixed = sizes.estimated().saturating_sub(sizes.calibrated(history.tokens()));
    let kept = |retain: usize| -> u64 {
        let from = rounds.get(rounds.len().saturating_sub(retain)).map_or(0, |range| range.start);
        history.entries()[from..].iter().map(|entry| u64::from(entry.tokens())).sum()
    };
    let room = policy::low_water(sizes.settings).saturating_sub(fixed + spare + SUMMARY_TOKENS);
    let fits = |retain: usize| sizes.calibrated(kept(retain)) <= room;
    let retain = (2..=most.max(2)).rev().find(|&retain| fits(retain)).unwrap_or(2);
    history.archive_before(retain).or_else(|| history.archive_before(1).filter(|_| wanted || !fits(2)))
}

/// Replaces the covered entries with the summary if that is smaller; returns whether it is.
pub fn adopt(conversation: &mut Conversation, before: ItemId, summary: Summary) -> Result<bool, LogError> {
    let smaller = tokens_of(&summary) < covered_tokens(conversation, before);
    if smaller {
        conversation.archive(before, summary, CauseKind::Compaction)?;
    }
    Ok(smaller)
}
