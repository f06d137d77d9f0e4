//! Bootstrap confidence intervals: sessions are resampled with replacement and the figure is recomputed. The
//! seed is fixed, so results are reproducible.

use std::ops::RangeInclusive;

use fastrand::Rng;

const DRAWS: usize = 1_000;
const SEED: u64 = 95;

/// A session's numerator and denominator of a ratio.
pub type Share = (f64, f64);

/// The 95 % interval of the ratio; `None` for a single session.
pub fn interval(sessions: &[Share]) -> Option<RangeInclusive<f64>> {
    if sessions.len() < 2 {
        return None;
    }
    let mut rng = Rng::with_seed(SEED);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..sessions.len()).map(|_| sessions[rng.usize(0..sessions.len())]);
            let (above, below) = drawn.fold((0.0, 0.0), |sum, share| (sum.0 + share.0, sum.1 + share.1));
            if below > 0.0 { above / below } else { 1.0 }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some(ratios[DRAWS / 40]..=ratios[DRAWS - 1 - DRAWS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_ratio_of_all() {
        assert_eq!(interval(&[(1.0, 2.0)]), None);
        assert_eq!(interval(&[(1.0, 2.0); 9]), Some(0.5..=0.5));
        let mixed: Vec<Share> = (0..40).map(|n| (f64::from(n % 5), 4.0)).collect();
        let range = interval(&mixed).unwrap_or(0.0..=0.0);
        assert!(range.contains(&0.5) && *range.start() > 0.3 && *range.end() < 0.7, "{range:?}");
        assert_eq!(interval(&mixed), interval(&mixed));
    }
}
