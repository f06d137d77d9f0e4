//! Keeping every request inside the window: the steps of SPEC §2 in their order, each logged with its cause. Checked
//! before every request, also in the middle of a turn.

use std::sync::Arc;

use super::control::{Events, TurnControl};
use super::core::Core;
use crate::context::budget::cache_model::COLD_AFTER_MS;
use crate::context::compress::summary::SummaryCompressor;
use crate::context::history::entry::Entry;
use crate::context::history::ladder::{Ladder, Measure, Room};
use crate::context::history::relief;
use crate::context::history::steward::{self, Situation};
use crate::model::item::ItemId;
use crate::protocol::event::{Event, Level};
use crate::session::log::LogError;

/// What a summary itself is taken to need, in tokens.
const SUMMARY_TOKENS: u64 = 1_500;
/// What the todo recap is taken to need, in tokens.
const RECAP_TOKENS: u64 = 90;
/// Failures in a row after which summaries are no longer tried by themselves.
const MAX_FAILURES: u32 = 2;

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

/// Why a request cannot be made.
#[derive(Debug)]
pub enum FitError {
    Log(LogError),
    /// Nothing more can be given up: the fixed parts and the newest message are larger than the window.
    TooSmall {
        needed: u64,
        window: u64,
        /// What of it the rules files take.
        rules: u64,
    },
}

impl From<LogError> for FitError {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl Core {
    /// Tokens of the next request as far as they are known now, calibrated.
    pub fn size(&self) -> u64 {
        self.conversation.calibration.apply(self.fixed_tokens() + self.conversation.history.tokens())
    }

    /// The most tokens that the next request may take. What a server has counted is known; what arrived since, and
    /// everything before the first answer, is taken at its ceiling.
    fn most(&self) -> u64 {
        let history = &self.conversation.history;
        let fixed = u64::from(self.fixed_ceiling) + u64::from(self.law.tokens()) * 5 / 4 + RECAP_TOKENS;
        let ceiling = fixed + history.ceiling();
        let Some(ratio) = self.conversation.calibration.learned() else { return ceiling };
        let now = history.requests();
        let unsure: u64 = history
            .entries()
            .iter()
            .rev()
            .take_while(|entry| entry.arrived_at + 1 >= now)
            .map(|entry| u64::from(entry.ceiling().saturating_sub(entry.tokens())))
            .sum();
        let estimated = (self.fixed_tokens() + history.tokens()) as f64;
        let known = (estimated * ratio.max(0.5) * 1.1) as u64 + unsure;
        if ratio > 1.1 {
            return known.max(ceiling);
        }
        // In scripts of many characters the ceiling is far too high, and what was reported tells it; elsewhere a report
        // of less says little that the ceiling does not.
        if ceiling as f64 > estimated * 1.6 { known.min(ceiling) } else { ceiling }
    }

    /// Tokens left for the answer.
    pub fn free(&self) -> u64 {
        self.context.window_tokens.saturating_sub(self.most())
    }

    /// Rewrites the past where the policy says that it pays, or that the soft cap demands it.
    ///
    /// # Errors
    /// When the log cannot be written.
    fn adopt_where_it_pays(&mut self) -> Result<(), LogError> {
        let situation = Situation {
            settings: &self.context,
            cold: self.conversation.idle_ms() > COLD_AFTER_MS,
            fixed_tokens: self.fixed_tokens(),
            scale: self.conversation.calibration.ratio(),
        };
        for batch in steward::before_request(&self.conversation.history, &situation) {
            self.conversation.adopt(&batch)?;
        }
        Ok(())
    }

    /// Estimated tokens of what is sent beside the history.
    fn fixed_tokens(&self) -> u64 {
        let l1 = u64::from(self.system_tokens) + u64::from(self.tools_tokens);
        l1 + u64::from(self.law.tokens()) + RECAP_TOKENS
    }

    /// Brings the next request under the limit, and in any case into the window.
    ///
    /// # Errors
    /// [`FitError`].
    pub async fn fit(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<(), FitError> {
        self.adopt_where_it_pays()?;
        if self.size() >= steward::limit(&self.context) {
            let low_water = steward::low_water(&self.context);
            let landing = low_water.saturating_sub(self.fixed_tokens()).max(low_water / 4);
            let mut ladder = Ladder::gentle();
            while self.size() > low_water
                && let Some(measure) =
                    ladder.climb(&self.conversation.history, Room { most: landing, landing })
            {
                match measure {
                    Measure::Summarise if self.summary_failures < MAX_FAILURES => {
                        self.archive_rounds(control, events, None).await?;
                    }
                    other => self.take(other)?,
                }
            }
        }
        self.must_fit()
    }

    /// The last guard: a request over the window is never sent.
    fn must_fit(&mut self) -> Result<(), FitError> {
        let window = self.context.room_tokens();
        let mut ladder = Ladder::hard();
        loop {
            let most = self.most();
            if most <= window {
                return Ok(());
            }
            let history = &self.conversation.history;
            let fixed = most.saturating_sub(history.ceiling());
            let room = window.saturating_sub(fixed);
            match ladder.climb(history, Room { most: room, landing: room * 7 / 10 }) {
                Some(measure) => self.take(measure)?,
                None => {
                    return Err(FitError::TooSmall {
                        needed: most,
                        window: self.context.window_tokens,
                        rules: u64::from(self.law.tokens()),
                    });
                }
            }
        }
    }

    fn take(&mut self, measure: Measure) -> Result<(), LogError> {
        match measure {
            Measure::Adopt(batches) => {
                for batch in &batches {
                    self.conversation.adopt(batch)?;
                }
            }
            Measure::Summarise => {}
            Measure::Archive { before, summary } => {
                self.conversation.archive(before, summary, "trim: facts alone")?;
            }
        }
        Ok(())
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
            fixed + SUMMARY_TOKENS + self.conversation.calibration.apply(kept(retain))
                <= steward::low_water(&self.context)
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
