//! Keeping every request inside the window: the steps of SPEC §2 in their order, each logged with its cause. Checked
//! before every request, also in the middle of a turn.

use std::sync::Arc;

use crate::agent::control::{Events, TurnControl};
use crate::agent::core::Core;
use crate::context::compaction::cache_model::COLD_AFTER_MS;
use crate::context::compaction::policy::{self, Situation};
use crate::context::compaction::stages::{CompactionStage, CompactionStages, SizeTarget};
use crate::session::log::LogError;

/// What the todo recap is taken to need, in tokens.
const RECAP_TOKENS: u64 = 90;
/// What a message and what was done about it need at least, in tokens.
const WORKING_TOKENS: u64 = 1_500;

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
        let ceiling = self.most_fixed() + history.upper_bound();
        let Some(ratio) = self.conversation.calibration.learned() else { return ceiling };
        let now = history.requests();
        let unsure: u64 = history
            .entries()
            .iter()
            .rev()
            .take_while(|entry| entry.arrived_at + 1 >= now)
            .map(|entry| u64::from(entry.upper_bound().saturating_sub(entry.tokens())))
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

    /// The most tokens that what is sent beside the history may take.
    fn most_fixed(&self) -> u64 {
        u64::from(self.fixed_ceiling) + u64::from(self.law.tokens()) * 5 / 4 + RECAP_TOKENS
    }

    /// The smallest window in which there is still something to work with, in tokens.
    pub fn smallest_window(&self) -> u64 {
        // An eighth is for the answer.
        (self.most_fixed() + WORKING_TOKENS) * 8 / 7
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
        for batch in policy::before_request(&self.conversation.history, &situation) {
            self.conversation.adopt(&batch)?;
        }
        Ok(())
    }

    /// Estimated tokens of what is sent beside the history.
    pub fn fixed_tokens(&self) -> u64 {
        u64::from(self.system.tokens)
            + u64::from(self.schemas.tokens)
            + u64::from(self.law.tokens())
            + RECAP_TOKENS
    }

    /// Brings the next request under the limit, and in any case into the window.
    ///
    /// # Errors
    /// [`FitError`].
    pub async fn fit(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<(), FitError> {
        self.adopt_where_it_pays()?;
        if self.size() >= policy::limit(&self.context) {
            let low_water = policy::low_water(&self.context);
            let landing = low_water.saturating_sub(self.fixed_tokens()).max(low_water / 4);
            let mut stages = CompactionStages::gentle();
            while self.size() > low_water
                && let Some(measure) =
                    stages.next(&self.conversation.history, SizeTarget { most: landing, landing })
            {
                match measure {
                    CompactionStage::Summarize => {
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
        let mut stages = CompactionStages::hard();
        loop {
            let most = self.most();
            if most <= window {
                return Ok(());
            }
            let history = &self.conversation.history;
            let fixed = most.saturating_sub(history.upper_bound());
            let room = window.saturating_sub(fixed);
            match stages.next(history, SizeTarget { most: room, landing: room * 7 / 10 }) {
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

    fn take(&mut self, measure: CompactionStage) -> Result<(), LogError> {
        match measure {
            CompactionStage::Adopt(batches) => {
                for batch in &batches {
                    self.conversation.adopt(batch)?;
                }
            }
            CompactionStage::Summarize => {}
            CompactionStage::Archive { before, summary } => {
                self.conversation.archive(before, summary, "trim: facts alone")?;
            }
        }
        Ok(())
    }
}
