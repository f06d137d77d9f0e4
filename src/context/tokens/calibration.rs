//! What servers report of our requests: a ratio for each model that corrects our figures, how far they may still be off,
//! and whether the server must have truncated a prompt without saying so (Ollama with its `num_ctx` of 4,096, for one).

/// How far an estimate is off where nothing was learned of the model's tokenizer, as a share.
const UNKNOWN_SPREAD: f64 = 0.15;

/// The same where the model's own tokenizer has counted: what remains is the frame that a server puts around the text.
const COUNTED_SPREAD: f64 = 0.02;

/// A request of which this share is of one kind teaches something of that kind.
const ONE_KIND: f64 = 0.9;

/// Prompts under this size are never suspicious, nor are reports under [`LEAST_REPORTED`]: a server that counts only
/// what its cache did not hold reports little.
const LEAST_EXPECTED: u64 = 2_000;
const LEAST_REPORTED: u64 = 900;
/// A report under this share of what was sent is no matter of tokenizers.
const SHARE: f64 = 0.55;
/// Windows come in such steps, in tokens.
const STEP: u64 = 1_024;

/// What was learned of one kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LearnedRatio {
    ratio: f64,
    samples: u32,
    /// How far reports were from what was expected of them, as a share; the newest weigh most.
    spread: f64,
    /// How far the figures are off where nothing was learned, as a share.
    unknown: f64,
}

impl LearnedRatio {
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
    estimates: LearnedRatio,
    counts: LearnedRatio,
    /// What share of the tokens in question was counted by the model's tokenizer.
    counted: f64,
    truncation: TruncationDetector,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            estimates: LearnedRatio::nothing(UNKNOWN_SPREAD),
            counts: LearnedRatio::nothing(COUNTED_SPREAD),
            counted: 0.0,
            truncation: TruncationDetector::default(),
        }
    }
}

impl Calibration {
    /// What is known of the model's tokenizer before its server has reported anything: tokens per estimated one.
    pub fn presume(&mut self, ratio: f64) {
        if self.estimates.samples == 0 {
            self.estimates.ratio = ratio;
        }
    }

    /// From here on `counted` of each `total` tokens in question are the tokenizer's own count.
    pub fn weigh(&mut self, counted: u64, total: u64) {
        self.counted = if total == 0 { 0.0 } else { (counted as f64 / total as f64).min(1.0) };
    }

    /// Takes what a server reported of a request of `total` tokens (uncalibrated), `counted` of them by the tokenizer:
    /// learns from it, unless the server must have cut the prompt. Then it is the window, in tokens, that the server
    /// evidently has.
    pub fn report(&mut self, total: u64, counted: u64, reported: u64) -> Option<u64> {
        self.weigh(counted, total);
        let cut = self.truncation.check(self.apply(total), reported);
        if cut.is_none() {
            self.learn(total, counted, reported);
        }
        cut
    }

    /// Learns that a request of `total` tokens (uncalibrated), `counted` of them by the tokenizer, was reported as
    /// `reported` tokens. Small requests say little; mixed ones do not say which of the two was off.
    fn learn(&mut self, total: u64, counted: u64, reported: u64) {
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

/// Finds truncated prompts by the usage that servers report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TruncationDetector {
    last_expected: u64,
}

impl TruncationDetector {
    /// Takes a report that a prompt of about `expected` tokens (calibrated) took `reported`. Returns the window, in
    /// tokens, that the server evidently has, when it must have cut the prompt.
    fn check(&mut self, expected: u64, reported: u64) -> Option<u64> {
        let added = expected.saturating_sub(self.last_expected);
        self.last_expected = expected;
        if expected < LEAST_EXPECTED
            || reported < LEAST_REPORTED
            || reported as f64 >= expected as f64 * SHARE
        {
            return None;
        }
        // A server that leaves out what its cache held reports what was added since the last request.
        let only_new = added != expected && added.abs_diff(reported) * 10 <= reported * 3;
        (!only_new).then(|| reported.div_ceil(STEP) * STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_moves_towards_the_server() {
        let mut calibration = Calibration::default();
        calibration.learn(1000, 0, 1300);
        assert_eq!(calibration.apply(1000), 1300);
        calibration.learn(1000, 0, 100);
        assert_eq!(calibration.apply(1000), 1300, "an absurd report is ignored");
    }

    #[test]
    fn error_band() {
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

    #[test]
    fn truncation_detector() {
        let mut detector = TruncationDetector::default();
        assert_eq!(detector.check(3_600, 3_300), None);
        assert_eq!(detector.check(20_000, 14_000), None, "another tokenizer");
        assert_eq!(detector.check(22_000, 2_100), None, "only what was new");
        assert_eq!(detector.check(22_400, 300), None, "hardly anything was new");
        assert_eq!(detector.check(30_000, 4_030), Some(4_096));
        assert_eq!(TruncationDetector::default().check(9_000, 4_096), Some(4_096));
    }
}
