//! How likely a ranked file is among those that a task changes: a score only orders the files of one task, and even a
//! question about nothing in particular has a best file. Two facts decide: how far a file stands out from the others,
//! and how much of the task its best passage holds.
//!
//! A logistic fit on the 25 best files of each of 423 real issues and commit messages (as for the weights), and of 40
//! tasks that are about no file ("review the code", "upgrade the dependencies") in each of 14 projects. On projects and
//! tasks left out, files given 10–20 % were right in 19 % of the cases, 35–50 % in 44 %, 70–85 % in 69 %, more in 89 %.

/// The scale at which the weights are fitted.
const SCALE: f32 = 3.0;
const CONSTANT: f32 = -4.36;
const ODDS: f32 = 0.71;
const PASSAGE: f32 = 1.12;
/// A share of one would have endless odds.
const MOST: f32 = 0.999;

/// What the scores of a task's best files (best first) leave for each one's chance.
#[derive(Clone, Copy, Debug)]
pub struct Chances {
    best: f32,
    total: f32,
}

impl Chances {
    pub fn new(scores: impl Iterator<Item = f32> + Clone) -> Self {
        let best = scores.clone().next().unwrap_or(0.0);
        Self { best, total: scores.map(|score| (SCALE * (score - best)).exp()).sum() }
    }

    /// The chance of a file with this score, whose best passage is worth this much.
    pub fn of(&self, score: f32, passage: f32) -> f32 {
        let share = ((SCALE * (score - self.best)).exp() / self.total).clamp(f32::MIN_POSITIVE, MOST);
        let odds = CONSTANT + ODDS * (share / (1.0 - share)).ln() + PASSAGE * passage.ln_1p();
        1.0 / (1.0 + (-odds).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_needs_a_lead_and_evidence() {
        let clear = Chances::new([3.0, 1.5, 1.4].into_iter());
        let close = Chances::new([3.0, 2.9, 2.9, 2.9, 2.9].into_iter());
        assert!(clear.of(3.0, 40.0) > 0.8 && clear.of(1.5, 40.0) < 0.3);
        assert!(close.of(3.0, 40.0) < clear.of(3.0, 40.0));
        assert!(close.of(3.0, 6.0) < 0.1, "a few common words are no evidence");
        assert!(clear.of(3.0, 0.0).is_finite() && Chances::new([].into_iter()).of(0.0, 0.0).is_finite());
    }
}
