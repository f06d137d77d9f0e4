//! The signals, their weights, and the total score. Values are computed elsewhere.
//!
//! Weights: list-wise logistic fit (softmax over a task's hundred best files), regularized toward hand-set weights with
//! fixed signs, on 423 real issues and commit messages of 55 projects (November 2026). There, all changed files are among
//! the first 1 / 5 / 10 in 39.7 / 74.0 / 81.3 %. Imports, common commits, recency, how often a file changes, its size, and
//! being its folder's main file were signals, too: without them it was 40.7 / 73.8 / 81.8. Tests and documents never count
//! as changed in this data, so their penalties are set by hand.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Body,
    Passage,
    TitlePassage,
    SymbolNames,
    Path,
    Mention,
    Frame,
    Quoted,
    Past,
    PastTitle,
    Test,
    Document,
    Example,
    Settings,
    Foreign,
}

/// The least informative signals.
pub const GENERAL: [&str; 3] =
    ["words in the file", "words close together", "the title's words close together"];

const COUNT: usize = SIGNALS.len();

struct Weight {
    signal: Signal,
    word: &'static str,
    /// Weight of the value relative to the best file's.
    value: f32,
    /// Weight of the file's rank by this signal; zero for flags, because all flagged files share a rank.
    rank: f32,
    /// The minimum value for full weight, so that a name shared by thirty files doesn't count like a unique one.
    whole: f32,
}

const fn weight(signal: Signal, value: f32, rank: f32, whole: f32, word: &'static str) -> Weight {
    Weight { signal, word, value, rank, whole }
}

/// In the order of [`Signal`].
const SIGNALS: [Weight; 15] = [
    weight(Signal::Body, 0.32, 0.00, 0.0, "words in the file"),
    weight(Signal::Passage, 0.91, 0.00, 0.0, "words close together"),
    weight(Signal::TitlePassage, 0.45, 0.16, 0.0, "the title's words close together"),
    weight(Signal::SymbolNames, 0.31, 0.00, 5.0, "defines what is named"),
    weight(Signal::Path, 0.41, 0.00, 0.0, "words in the path"),
    weight(Signal::Mention, 0.57, 0.00, 1.0, "named in the task"),
    weight(Signal::Frame, 0.84, 0.00, 1.0, "in the stack trace"),
    weight(Signal::Quoted, 0.40, 0.00, 6.0, "contains a quoted text"),
    weight(Signal::Past, 0.55, 0.10, 1.0, "changed by similar commits"),
    weight(Signal::PastTitle, 0.30, 0.19, 1.0, "changed by commits with a similar title"),
    weight(Signal::Test, -2.40, 0.00, 1.0, "a test"),
    weight(Signal::Document, -2.40, 0.00, 1.0, "documentation"),
    weight(Signal::Example, -1.02, 0.00, 1.0, "an example"),
    weight(Signal::Settings, -1.03, 0.00, 1.0, "settings or data"),
    weight(Signal::Foreign, -2.20, 0.00, 1.0, "generated or third-party"),
];

const _: () = {
    let mut number = 0;
    while number < COUNT {
        assert!(SIGNALS[number].signal as usize == number, "the table is in the order of the signals");
        number += 1;
    }
};

/// One column of values per signal, by file number.
pub struct Columns {
    by_signal: Vec<Vec<f32>>,
}

impl Columns {
    pub fn new(files: usize) -> Self {
        Self { by_signal: vec![vec![0.0; files]; COUNT] }
    }

    pub fn of(&self, signal: Signal) -> &[f32] {
        &self.by_signal[signal as usize]
    }

    pub fn of_mut(&mut self, signal: Signal) -> &mut [f32] {
        &mut self.by_signal[signal as usize]
    }

    pub fn add(&mut self, signal: Signal, file: usize, value: f32) {
        self.of_mut(signal)[file] += value;
    }

    pub fn raise(&mut self, signal: Signal, file: usize, value: f32) {
        let cell = &mut self.of_mut(signal)[file];
        *cell = cell.max(value);
    }

    pub fn scores(&self) -> Vec<f32> {
        let mut scores = vec![0.0; self.by_signal.first().map_or(0, Vec::len)];
        for number in 0..COUNT {
            for (score, part) in scores.iter_mut().zip(self.weighed(number)) {
                *score += part;
            }
        }
        scores
    }

    /// What each signal adds to the scores of `files`, with its word; zeros are left out.
    pub fn parts(&self, files: &[usize]) -> Vec<Vec<(&'static str, f32)>> {
        let mut parts = vec![Vec::new(); files.len()];
        for (number, weight) in SIGNALS.iter().enumerate() {
            let column = self.weighed(number);
            for (parts, file) in parts.iter_mut().zip(files).filter(|(_, file)| column[**file] != 0.0) {
                parts.push((weight.word, column[*file]));
            }
        }
        parts
    }

    fn weighed(&self, number: usize) -> Vec<f32> {
        let (weight, column) = (&SIGNALS[number], &self.by_signal[number]);
        let best = column.iter().copied().fold(weight.whole, f32::max).max(f32::MIN_POSITIVE);
        let mut parts: Vec<f32> = column.iter().map(|value| weight.value * value / best).collect();
        if weight.rank != 0.0 {
            for (file, share) in rank_shares(column) {
                parts[file] += weight.rank * share;
            }
        }
        parts
    }
}

/// The rank that gets half of the first rank's share.
const HALF_RANK: f32 = 4.0;
const LAST_RANK: usize = 60;

/// Shares of 0–1 by rank. Ties get the better rank; a tie that doesn't fit entirely is dropped.
fn rank_shares(column: &[f32]) -> Vec<(usize, f32)> {
    let order = best(column, LAST_RANK + 1);
    let mut shares = Vec::with_capacity(order.len());
    for equals in order.chunk_by(|a, b| column[*a] == column[*b]) {
        let rank = shares.len();
        if column[equals[0]] <= 0.0 || rank + equals.len() > LAST_RANK {
            break;
        }
        shares.extend(equals.iter().map(|file| (*file, HALF_RANK / (HALF_RANK + rank as f32))));
    }
    shares
}

pub fn best(scores: &[f32], limit: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    let better = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if order.len() > limit {
        order.select_nth_unstable_by(limit, better);
        order.truncate(limit);
    }
    order.sort_unstable_by(better);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_count_all_or_none() {
        let mut column = vec![0.0; 100];
        column[3] = 2.0;
        column[40..90].fill(1.0);
        let shares = rank_shares(&column);
        assert_eq!((shares[0], shares.len()), ((3, 1.0), 51));
        assert!(shares[1..].iter().all(|(_, share)| *share == HALF_RANK / (HALF_RANK + 1.0)));
        column[30..].fill(1.0);
        assert_eq!(rank_shares(&column), [(3, 1.0)], "the 70 equals don't fit into 60 ranks");
    }
}
