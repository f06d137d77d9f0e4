//! Corrects estimates with what servers report. The size of the last reported request is known; only later text is
//! estimated, at a ratio learned for the model. Also detects silently truncated prompts (such as by Ollama with its
//! `num_ctx` of 4,096).

/// Relative error of an estimate before its server has reported anything.
const UNKNOWN_SPREAD: f64 = 0.15;
/// Relative error of a reported size when the same request is sent again.
const REPORTED_SPREAD: f64 = 0.005;
/// Smaller reports and smaller additions are ignored.
const LEAST_SAMPLE: u64 = 200;
/// Real tokens per estimated token; outside this range, the server counts wrongly or truncates.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.4..=2.5;

/// Smaller prompts and reports are never suspicious: a server that excludes cached tokens reports little.
const LEAST_EXPECTED: u64 = 2_000;
const LEAST_REPORTED: u64 = 900;
/// The tokenizer can't explain a report below this share of the prompt.
const SHARE: f64 = 0.55;
/// Windows are multiples of this, in tokens.
const STEP: u64 = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    estimated: u64,
    real: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Real tokens per estimated token, for text not yet reported.
    ratio: f64,
    /// Relative error of the estimates for new text; the newest reports weigh most.
    spread: f64,
    samples: u32,
    last: Option<Report>,
    truncation: TruncationDetector,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            spread: UNKNOWN_SPREAD,
            samples: 0,
            last: None,
            truncation: TruncationDetector::default(),
        }
    }
}

impl Calibration {
    pub fn presume(&mut self, ratio: f64) {
        if self.samples == 0 {
            self.ratio = ratio;
        }
    }

    /// Returns the server's evident window, in tokens, if it must have cut the prompt.
    pub fn report(&mut self, estimated: u64, reported: u64) -> Option<u64> {
        let cut = self.truncation.check(self.apply(estimated), reported);
        if cut.is_none() {
            self.learn(Report { estimated, real: reported });
        }
        cut
    }

    fn learn(&mut self, report: Report) {
        let whole = report.real as f64 / report.estimated.max(1) as f64;
        if report.estimated < LEAST_SAMPLE || !PLAUSIBLE.contains(&whole) {
            return;
        }
        let added = self.last.and_then(|last| {
            let estimated = report.estimated.checked_sub(last.estimated)?;
            let real = report.real.checked_sub(last.real)?;
            (estimated >= LEAST_SAMPLE).then(|| real as f64 / estimated as f64)
        });
        match added.filter(|ratio| PLAUSIBLE.contains(ratio)) {
            _ if self.samples == 0 => self.ratio = whole,
            Some(ratio) => {
                let off = (ratio / self.ratio - 1.0).abs();
                self.spread += (off - self.spread) * 0.3;
                self.ratio += (ratio - self.ratio) * 0.3;
            }
            // Too little was added, or the past was rewritten.
            None => {}
        }
        self.samples = self.samples.saturating_add(1);
        self.last = Some(report);
    }

    /// The corrected estimate of a full request. Monotone, so running sums can be corrected too.
    pub fn apply(&self, tokens: u64) -> u64 {
        let real = match self.last {
            Some(last) if tokens > last.estimated => {
                last.real as f64 + (tokens - last.estimated) as f64 * self.ratio
            }
            _ => tokens as f64 * self.ratio(),
        };
        real.ceil() as u64
    }

    pub fn is_learned(&self) -> bool {
        self.last.is_some()
    }

    /// Possible error of [`Self::apply`] for a request of this estimated size, in percent up or down.
    pub fn error_percent(&self, tokens: u64) -> f64 {
        let Some(last) = self.last else { return UNKNOWN_SPREAD * 100.0 };
        let changed = tokens.abs_diff(last.estimated) as f64 / tokens.max(1) as f64;
        let spread = (self.spread * 2.0).clamp(REPORTED_SPREAD, UNKNOWN_SPREAD);
        (REPORTED_SPREAD + spread * changed.min(1.0)).min(UNKNOWN_SPREAD) * 100.0
    }

    pub fn ratio(&self) -> f64 {
        self.last.map_or(self.ratio, |last| last.real as f64 / last.estimated.max(1) as f64)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TruncationDetector {
    last_expected: u64,
}

impl TruncationDetector {
    /// `expected` is calibrated. Returns the server's evident window if it must have cut the prompt.
    fn check(&mut self, expected: u64, reported: u64) -> Option<u64> {
        let added = expected.saturating_sub(self.last_expected);
        self.last_expected = expected;
        if expected < LEAST_EXPECTED
            || reported < LEAST_REPORTED
            || reported as f64 >= expected as f64 * SHARE
        {
            return None;
        }
        // A server that excludes cached tokens reports only what was added.
        let only_new = added != expected && added.abs_diff(reported) * 10 <= reported * 3;
        (!only_new).then(|| reported.div_ceil(STEP) * STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reported_is_known() {
        let mut calibration = Calibration::default();
        calibration.report(1000, 1300);
        assert_eq!((calibration.apply(1000), calibration.apply(500)), (1300, 650));
        calibration.report(1000, 100);
        assert_eq!(calibration.apply(1000), 1300, "an absurd report is ignored");
    }

    #[test]
    fn what_came_since_has_a_ratio_of_its_own() {
        let mut calibration = Calibration::default();
        calibration.report(2000, 2200);
        for step in 1..20 {
            // Everything that is added takes half again as much as estimated.
            calibration.report(2000 + step * 1000, 2200 + step * 1500);
        }
        let (known, real) = (21_000, 2200 + 19 * 1500);
        let next = calibration.apply(known + 1000) as f64;
        assert!((next / (real + 1500) as f64 - 1.0).abs() < 0.001, "{next} of {}", real + 1500);
    }

    #[test]
    fn error_band() {
        let mut calibration = Calibration::default();
        assert!((calibration.error_percent(1000) - 15.0).abs() < f64::EPSILON);
        calibration.report(10_000, 12_000);
        assert!(calibration.error_percent(10_000) < 1.0, "the same request again");
        assert!(calibration.error_percent(11_000) < 3.0, "a step more");
        assert!(calibration.error_percent(30_000) > 5.0, "mostly new");
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
