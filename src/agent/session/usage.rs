//! A session's usage: totals, cost, and the last reported size.

use base::clock;
use base::config::provider::models;
use base::model::usage::{PriceUsed, Usage};
use base::protocol::event::WindowState;
use context::session::record::RequestRecord;
use context::tokens::calibration::Calibration;

/// Sizes with a smaller error, in percent, are shown as exact.
const EXACT_PERCENT: f64 = 2.5;

/// Lifetimes of a normal and a long-lived prompt cache, in milliseconds.
const SHORT_CACHE_MS: u64 = 300_000;
pub const LONG_CACHE_MS: u64 = 3_600_000;

#[derive(Default)]
pub struct UsageMeter {
    pub total: Usage,
    /// Without the requests of unknown price.
    cost_usd: f64,
    unpriced: bool,
    price: Option<PriceUsed>,
    last_request_ms: u64,
    /// Pauses longer than a normal prompt cache's lifetime but shorter than a long-lived one's.
    pub pauses: u32,
    /// Reported tokens of the last request; `None` if what is sent has changed since.
    last_reported: Option<u64>,
    /// The server's real window, if it was seen truncating a prompt.
    pub truncated_to: Option<u64>,
}

impl UsageMeter {
    pub fn add_request(&mut self, request: &RequestRecord) {
        let idle = request.ms.saturating_sub(self.last_request_ms);
        self.pauses += u32::from((SHORT_CACHE_MS..LONG_CACHE_MS).contains(&idle));
        self.last_request_ms = request.ms;
        self.last_reported = None;
        if let Some(usage) = &request.usage {
            self.add(&request.model, usage, request.ms);
            self.last_reported = Some(usage.total());
        }
    }

    pub fn add(&mut self, model: &str, usage: &Usage, ms: u64) {
        self.total.add(usage);
        let cost = models::cost(model, usage, ms);
        self.unpriced |= cost.is_none();
        self.cost_usd += cost.unwrap_or(0.0);
        let used = models::price_used(model, ms);
        self.price = Some(self.price.map_or(used, |before| before.with(used)));
    }

    pub fn forget_report(&mut self) {
        self.last_reported = None;
    }

    /// The server cut the prompt to `window` tokens, so its report doesn't tell how full the window is.
    pub fn set_truncation(&mut self, window: Option<u64>) {
        if window.is_some() {
            self.truncated_to = window;
            self.last_reported = None;
        }
    }

    /// `estimated` is the size of the last request built, in estimated tokens.
    pub fn window(&self, estimated: u64, window_tokens: u64, calibration: &Calibration) -> WindowState {
        WindowState {
            used_tokens: self.last_reported.unwrap_or_else(|| calibration.apply(estimated)),
            window_tokens,
            estimated: self.last_reported.is_none() && calibration.error_percent(estimated) > EXACT_PERCENT,
            total: self.total,
            cost_usd: self.cost_usd(),
            price: self.price.unwrap_or_default(),
        }
    }

    /// Without reported usage the cost is unknown, not zero.
    pub fn cost_usd(&self) -> Option<f64> {
        (!self.unpriced && self.total != Usage::default()).then_some(self.cost_usd)
    }

    /// Milliseconds since the last request; very large before the first.
    pub fn idle_ms(&self) -> u64 {
        clock::now_ms().saturating_sub(self.last_request_ms)
    }
}
