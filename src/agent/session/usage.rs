//! What a session's requests cost and how far the reported sizes agree with our own: totals, price, calibration, and what
//! the last report says of the window.

use base::clock;
use base::config::models;
use base::model::usage::Usage;
use base::protocol::event::WindowState;
use context::session::record::RequestRecord;
use context::tokens::calibration::Calibration;

/// A size that is off by no more than this, in percent, is not shown as an estimate.
const EXACT_PERCENT: f64 = 2.5;

/// How long a prompt cache lives, and one that is asked to live longer, in milliseconds.
const SHORT_CACHE_MS: u64 = 300_000;
pub const LONG_CACHE_MS: u64 = 3_600_000;

/// The usage of one session.
pub struct UsageMeter {
    /// Real tokens per estimated one.
    pub calibration: Calibration,
    total: Usage,
    /// `None` once a request's price is unknown.
    cost_usd: Option<f64>,
    last_request_ms: u64,
    /// Pauses after which a short-lived prompt cache was gone and a longer-lived one would not have been.
    pauses: u32,
    /// Size of the last request in tokens as the server counted it; `None` when what is sent has changed since.
    last_reported: Option<u64>,
    /// The window that the server evidently has, when it was seen to cut a prompt; asked for once.
    truncated_to: Option<u64>,
}

impl Default for UsageMeter {
    fn default() -> Self {
        Self {
            calibration: Calibration::default(),
            total: Usage::default(),
            cost_usd: Some(0.0),
            last_request_ms: 0,
            pauses: 0,
            last_reported: None,
            truncated_to: None,
        }
    }
}

impl UsageMeter {
    /// Adds an answered request.
    pub fn add_request(&mut self, request: &RequestRecord) {
        let idle = request.ms.saturating_sub(self.last_request_ms);
        self.pauses += u32::from((SHORT_CACHE_MS..LONG_CACHE_MS).contains(&idle));
        self.last_request_ms = request.ms;
        self.last_reported = None;
        if let Some(usage) = &request.usage {
            self.add(&request.model, usage);
            self.last_reported = Some(usage.total());
        }
    }

    /// Adds what was spent beside the session's own requests.
    pub fn add(&mut self, model: &str, usage: &Usage) {
        self.total.add(usage);
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let cost = models::facts(model)
            .and_then(|facts| facts.cost(fresh, usage.cached, usage.cache_write, usage.output));
        self.cost_usd = self.cost_usd.zip(cost).map(|(before, cost)| before + cost);
    }

    /// What is sent has changed: the last report no longer describes it.
    pub fn forget_report(&mut self) {
        self.last_reported = None;
    }

    /// A report showed that the server cut the prompt to `window` tokens; it says nothing of how full the window is.
    pub fn set_truncation(&mut self, window: Option<u64>) {
        if window.is_some() {
            self.truncated_to = window;
            self.last_reported = None;
        }
    }

    /// The window of a server that silently cuts prompts; `Some` once after each detection.
    pub fn take_truncation(&mut self) -> Option<u64> {
        self.truncated_to.take()
    }

    /// How full the window is. `estimated` is the size of the last request built, in estimated tokens.
    pub fn window(&self, estimated: u64, window_tokens: u64) -> WindowState {
        WindowState {
            used_tokens: self.last_reported.unwrap_or_else(|| self.calibration.apply(estimated)),
            window_tokens,
            estimated: self.last_reported.is_none()
                && self.calibration.error_percent(estimated) > EXACT_PERCENT,
            total: self.total,
            // Without reported usage nothing is known of the cost, not even that it is zero.
            cost_usd: self.cost_usd.filter(|_| self.total != Usage::default()),
        }
    }

    /// Pauses so far that a longer-lived prompt cache would have bridged.
    pub fn pauses(&self) -> u32 {
        self.pauses
    }

    pub fn total(&self) -> Usage {
        self.total
    }

    /// Milliseconds since the last request; huge before the first.
    pub fn idle_ms(&self) -> u64 {
        clock::now_ms().saturating_sub(self.last_request_ms)
    }
}
