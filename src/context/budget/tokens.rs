//! How many tokens a text takes, without a tokenizer: a six-class estimate fitted to o200k (within −12/+11 % from the
//! 5th to the 95th percentile of real tool results; see `shared/CONTEXT.md`), and a ratio per model that is learned
//! from the usage which servers report. Linear in the text, a few hundred MB/s, no tables to load.

use super::truncation::Watch;

/// Tokens that a message costs beside its text (role, separators).
pub const MESSAGE_OVERHEAD: u32 = 4;

/// How far an estimate is off where nothing was learned of the model's tokenizer, as a share.
const UNKNOWN_SPREAD: f64 = 0.15;

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

/// What one model's tokenizer makes of our estimates, learned from reported usage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    ratio: f64,
    samples: u32,
    /// How far reports were from what was expected of them, as a share; the newest weigh most.
    spread: f64,
    watch: Watch,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { ratio: 1.0, samples: 0, spread: UNKNOWN_SPREAD, watch: Watch::default() }
    }
}

impl Calibration {
    /// Takes up what a server reported of a request estimated (uncalibrated) at `estimated`: learns from it, unless the
    /// server must have cut the prompt. Then it is the window, in tokens, that the server evidently has.
    pub fn report(&mut self, estimated: u64, reported: u64) -> Option<u64> {
        let cut = self.watch.look(self.apply(estimated), reported);
        if cut.is_none() {
            self.learn(estimated, reported);
        }
        cut
    }

    /// Takes up that a request estimated (uncalibrated) at `estimated` was reported as `reported` tokens.
    /// Small requests say little and absurd ratios (a server that counts nothing, or truncates) are ignored.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if estimated < 200 || reported == 0 {
            return;
        }
        let ratio = reported as f64 / estimated as f64;
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

    /// An estimate corrected by what was learned. Never under 90 % of the plain estimate before anything is known.
    pub fn apply(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.ratio).ceil() as u64
    }

    /// The same once a server has reported something; `None` before.
    pub fn learned(&self) -> Option<f64> {
        (self.samples > 0).then_some(self.ratio)
    }

    /// How far [`Self::apply`] may be off, in percent up or down: before anything is learned what the estimate was
    /// measured at, then twice the usual distance between report and expectation (the single item may be off further).
    pub fn error_percent(&self) -> f64 {
        if self.samples == 0 {
            return UNKNOWN_SPREAD * 100.0;
        }
        (self.spread * 200.0).clamp(1.0, UNKNOWN_SPREAD * 100.0)
    }

    /// Real tokens per estimated one.
    pub fn ratio(&self) -> f64 {
        self.ratio
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
        calibration.learn(1000, 1300);
        assert_eq!(calibration.apply(1000), 1300);
        calibration.learn(1000, 100);
        assert_eq!(calibration.apply(1000), 1300, "an absurd report is ignored");
    }

    #[test]
    fn the_error_band_narrows_with_what_is_learned_and_widens_with_surprise() {
        let mut calibration = Calibration::default();
        let unknown = calibration.error_percent();
        for _ in 0..10 {
            calibration.learn(1000, 1200);
        }
        let known = calibration.error_percent();
        assert!(known < unknown / 3.0, "{known} of {unknown}");
        calibration.learn(1000, 1500);
        assert!(calibration.error_percent() > known);
    }
}
