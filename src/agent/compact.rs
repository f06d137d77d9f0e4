//! Keeping every request inside the window: the steps of SPEC §2 in their order, each logged with its cause. Checked
//! before every request, also in the middle of a turn.

use std::sync::Arc;

use super::control::{Events, TurnControl};
use super::core::Core;
use crate::context::budget::cache_model::COLD_AFTER_MS;
use crate::context::history::relief;
use crate::context::history::steward::{self, Situation};
use crate::session::log::LogError;

/// Why a request cannot be made.
#[derive(Debug)]
pub enum FitError {
    Log(LogError),
    /// Nothing more can be given up: the fixed parts and the newest message are larger than the window.
    TooSmall {
        needed: u64,
        window: u64,
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

    pub fn low_water(&self) -> u64 {
        let share = (self.context.window_tokens as f64 * self.context.low_water) as u64;
        // In a small window the reserve pulls the trigger down: landing must stay well under it, or every request
        // would compact again.
        share.min(steward::limit(&self.context) * 8 / 10)
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
        let recap = 90;
        u64::from(self.system.tokens) + u64::from(self.schemas.tokens) + u64::from(self.law.tokens()) + recap
    }

    /// Brings the next request under the limit.
    ///
    /// # Errors
    /// [`FitError`].
    pub async fn fit(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<(), FitError> {
        self.adopt_where_it_pays()?;
        let limit = steward::limit(&self.context);
        if self.size() < limit || self.conversation.history.entries().len() < 2 {
            return self.must_fit();
        }
        let low_water = self.low_water();
        for step in 0..relief::STEPS {
            if let Some(batch) = relief::step(&self.conversation.history, step) {
                self.conversation.adopt(&batch)?;
            }
            if self.size() <= low_water {
                return self.must_fit();
            }
            if step == relief::BEFORE_SUMMARY {
                self.archive_rounds(control, events, None).await?;
                if self.size() <= low_water {
                    return self.must_fit();
                }
            }
        }
        for severity in 0..relief::SEVERITIES {
            if self.size() < limit {
                break;
            }
            if let Some(batch) = relief::trim(&self.conversation.history, severity) {
                self.conversation.adopt(&batch)?;
            }
        }
        self.must_fit()
    }

    /// The last guard: a request over the window is never sent.
    fn must_fit(&mut self) -> Result<(), FitError> {
        let window = self.context.window_tokens;
        let room = window - (self.context.output_reserve_tokens / 2).min(window / 4);
        let mut severity = 0;
        while self.size() > room && severity < relief::SEVERITIES {
            if let Some(batch) = relief::trim(&self.conversation.history, severity) {
                self.conversation.adopt(&batch)?;
            }
            severity += 1;
        }
        if self.size() > room {
            return Err(FitError::TooSmall { needed: self.size(), window });
        }
        Ok(())
    }
}
