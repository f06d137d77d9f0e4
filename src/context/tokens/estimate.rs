//! How many tokens a text takes, without a tokenizer: a six-class estimate fitted to o200k (within −12/+11 % from the
//! 5th to the 95th percentile of real tool results; see `shared/CONTEXT.md`), and a ratio per model that is learned
//! from the usage which servers report. Linear in the text, a few hundred MB/s, no tables to load.

use super::truncation::Watch;

/// Tokens that a message costs beside its text (role, separators).
pub const MESSAGE_OVERHEAD: u32 = 4;

/// How far an estimate is off where nothing was learned of the model's tokenizer, as a share.
const UNKNOWN_SPREAD: f64 = 0.15;

/// The same where the model's own tokenizer has counted: what remains is the frame that a server puts around the text.
const COUNTED_SPREAD: f64 = 0.02;

/// A request of which this share is of one kind teaches something of that kind.
const ONE_KIND: f64 = 0.9;

/// Estimated tokens of `text` for an o200k-like tokenizer.
pub fn estimate(text: &str) -> u32 {
    let mut words = 0u64;
    let mut long_words = 0u64;
    let mut digit_groups = 0u64;
    let mut spaces = 0u64;
    let mut punctuation = 0u64;
    let mut wide = 0u64;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if byte.is_ascii_alphabetic() {
            at = run_end(bytes, at, |b| b.is_ascii_alphabetic());
            words += 1;
            long_words += (at - start - 1) as u64 / 6;
        } else if byte.is_ascii_digit() {
            at = run_end(bytes, at, |b| b.is_ascii_digit());
            digit_groups += (at - start).div_ceil(3) as u64;
        } else if byte.is_ascii_whitespace() {
            at = run_end(bytes, at, |b| b.is_ascii_whitespace());
            if at - start > 1 || byte != b' ' {
                // A tokenizer has tokens for long runs of blanks, but not for endless ones.
                spaces += 1 + (at - start) as u64 / 64;
            }
        } else if byte.is_ascii() {
            punctuation += 1;
            at += 1;
        } else {
            wide += u64::from(byte >= 0xC0);
            at += 1;
        }
    }
    // Long runs of letters (hex, base64, one letter repeated) take more than words do; the word classes cover them.
    let total = 0.958 * words as f64
        + 0.731 * long_words as f64
        + 1.476 * digit_groups as f64
        + 1.113 * spaces as f64
        + 0.461 * punctuation as f64
        + 1.259 * wide as f64;
    total.ceil().min(f64::from(u32::MAX)) as u32
}

fn run_end(bytes: &[u8], from: usize, class: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| !class(*byte)).map_or(bytes.len(), |length| from + length)
}

/// What reports told of one kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Learned {
    ratio: f64,
    samples: u32,
    /// How far reports were from what was expected of them, as a share; the newest weigh most.
    spread: f64,
    /// How far the figures are off where nothing was learned, as a share.
    unknown: f64,
}

impl Learned {
    fn nothing(unknown: f64) -> Self {
        Self { ratio: 1.0, samples: 0, spread: unknown, unknown }
    }

    /// Absurd ratios (a server that counts nothing, or truncates) are ignored.
    fn learn(&mut self, ratio: f64) {
        if !(0.4..=2.5).contains(&ratio) {
            return;
        }
        let weight = if self.samples == 0 { 1.0 } else { 0.3 };
        if self.samples > 0 {
            let off = (ratio / self.ratio - 1.0).abs();
            self.spread += (off - self.spread) * weight;
        }
        self.ratio += (ratio - self.ratio) * weight;
        self.samples = self.samples.saturating_add(1);
    }

    /// How far off the corrected figures may be, as a share.
    fn error(&self) -> f64 {
        if self.samples == 0 {
            return self.unknown;
        }
        // A first report sets the ratio and says nothing of the distance.
        let usual = if self.samples == 1 { self.unknown } else { self.spread * 2.0 };
        usual.clamp(0.01, UNKNOWN_SPREAD)
    }
}

/// What a server makes of our figures, learned from the usage that it reports. Estimates and the tokenizer's own counts
/// are off by different amounts, so each kind is learned of only from requests that hold hardly anything else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    estimates: Learned,
    counts: Learned,
    /// What share of the tokens in question was counted by the model's tokenizer.
    counted: f64,
    watch: Watch,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            estimates: Learned::nothing(UNKNOWN_SPREAD),
            counts: Learned::nothing(COUNTED_SPREAD),
            counted: 0.0,
            watch: Watch::default(),
        }
    }
}

impl Calibration {
    /// From here on `counted` of each `total` tokens in question are the tokenizer's own count.
    pub fn weigh(&mut self, counted: u64, total: u64) {
        self.counted = if total == 0 { 0.0 } else { (counted as f64 / total as f64).min(1.0) };
    }

    /// Takes up what a server reported of a request of `total` tokens (uncalibrated), `counted` of them by the tokenizer:
    /// learns from it, unless the server must have cut the prompt. Then it is the window, in tokens, that the server
    /// evidently has.
    pub fn report(&mut self, total: u64, counted: u64, reported: u64) -> Option<u64> {
        self.weigh(counted, total);
        let cut = self.watch.look(self.apply(total), reported);
        if cut.is_none() {
            self.learn(total, counted, reported);
        }
        cut
    }

    /// Takes up that a request of `total` tokens (uncalibrated), `counted` of them by the tokenizer, was reported as
    /// `reported` tokens. Small requests say little; mixed ones do not say which of the two was off.
    pub fn learn(&mut self, total: u64, counted: u64, reported: u64) {
        if total < 200 || reported == 0 {
            return;
        }
        let (counted, estimated) = (counted as f64, total.saturating_sub(counted) as f64);
        let reported = reported as f64;
        if counted >= total as f64 * ONE_KIND {
            self.counts.learn((reported - estimated * self.estimates.ratio) / counted);
        } else if estimated >= total as f64 * ONE_KIND {
            self.estimates.learn((reported - counted * self.counts.ratio) / estimated);
        }
    }

    /// A figure corrected by what was learned.
    pub fn apply(&self, tokens: u64) -> u64 {
        (tokens as f64 * self.ratio()).ceil() as u64
    }

    /// The ratio once a server has reported something; `None` before.
    pub fn learned(&self) -> Option<f64> {
        (self.estimates.samples + self.counts.samples > 0).then_some(self.ratio())
    }

    /// How far [`Self::apply`] may be off, in percent up or down: before anything is learned what the estimate was
    /// measured at, then twice the usual distance between report and expectation (the single item may be off further).
    pub fn error_percent(&self) -> f64 {
        (self.counts.error() * self.counted + self.estimates.error() * (1.0 - self.counted)) * 100.0
    }

    /// Real tokens per token of ours.
    pub fn ratio(&self) -> f64 {
        self.counts.ratio * self.counted + self.estimates.ratio * (1.0 - self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adversarial_text_is_not_free() {
        let million = 1 << 20;
        assert!(estimate(&"a".repeat(million)) > 100_000);
        assert!(estimate(&" ".repeat(million)) > 10_000);
        assert!(estimate(&"漢".repeat(1000)) > 1_000);
        assert_eq!(estimate(""), 0);
    }

    #[test]
    fn calibration_moves_towards_the_server() {
        let mut calibration = Calibration::default();
        calibration.learn(1000, 0, 1300);
        assert_eq!(calibration.apply(1000), 1300);
        calibration.learn(1000, 0, 100);
        assert_eq!(calibration.apply(1000), 1300, "an absurd report is ignored");
    }

    #[test]
    fn the_error_band_narrows_with_what_is_learned_and_widens_with_surprise() {
        let mut calibration = Calibration::default();
        let unknown = calibration.error_percent();
        for _ in 0..10 {
            calibration.learn(1000, 0, 1200);
        }
        let known = calibration.error_percent();
        assert!(known < unknown / 3.0, "{known} of {unknown}");
        calibration.learn(1000, 0, 1500);
        assert!(calibration.error_percent() > known);
    }

    #[test]
    fn counts_and_estimates_are_learned_apart() {
        let mut calibration = Calibration::default();
        calibration.learn(1000, 0, 1300);
        calibration.weigh(1000, 1000);
        assert_eq!(calibration.apply(1000), 1000, "what was learned of estimates says nothing of counts");
        assert!(calibration.error_percent() <= 2.0);
        calibration.learn(1000, 500, 2000);
        assert_eq!(calibration.apply(1000), 1000, "a mixed request teaches nothing");
        calibration.weigh(500, 1000);
        assert_eq!(calibration.apply(1000), 1150);
        for _ in 0..3 {
            calibration.report(1100, 1000, 1130);
        }
        calibration.weigh(1000, 1000);
        assert_eq!(calibration.apply(1000), 1000, "the tenth that was estimated is taken at its own ratio");
    }
}
