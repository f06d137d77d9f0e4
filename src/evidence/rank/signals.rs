//! The signals: what a file can have of a task, how much each counts, and the score they add up to. Computing the values
//! happens elsewhere.
//!
//! How the weights were chosen: set by hand in the order of what such signals are known to be worth, then moved by a
//! list-wise logistic fit (softmax over the best files of a task) that pulls back towards the hand-set values, on about
//! 700 tasks of 40 projects: real issues, descriptions of distribution patches, and messages of change logs with the older
//! ones as history (C, C++, Python, Go, JavaScript, Java, Rust). A second set of 439 tasks of 40 projects (73 real
//! issues; change logs of C and C++ projects that name each change's files; release notes of Python, JavaScript and Rust
//! packages with the differences between releases as history) gained nothing from a refit cross-validated by project, so
//! only what it showed to mislead was changed: recency and likeness to titles count less, busy files more against. What
//! such tasks cannot show (files that a user names, frames of stack traces) has a lower bound. The past keeps a high
//! weight although release notes speak against it: real commits name their files, notes were only matched to them. No
//! number is for one project.

/// One signal; each file has a value for each, 0 for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Body,
    Title,
    Passage,
    TitlePassage,
    Coverage,
    SymbolParts,
    SymbolNames,
    Path,
    TitlePath,
    Stem,
    Mention,
    Dotted,
    Frame,
    Quoted,
    Phrase,
    Imports,
    Together,
    Past,
    PastTitle,
    Folder,
    TestedBy,
    Recent,
    Busy,
    Size,
    Test,
    Document,
    Example,
    Settings,
    Foreign,
    Entrance,
}

const COUNT: usize = SIGNALS.len();

/// How a signal counts.
struct Weight {
    signal: Signal,
    /// The word that users see.
    word: &'static str,
    /// Of the value as a share of the best file's.
    value: f32,
    /// Of the file's rank by this signal. None for flags: all files that have one share a rank.
    rank: f32,
    /// A value that counts whole even when no file has more: a file name that thirty files have must not count like a
    /// unique one.
    whole: f32,
}

const fn weight(signal: Signal, value: f32, rank: f32, whole: f32, word: &'static str) -> Weight {
    Weight { signal, word, value, rank, whole }
}

/// All signals, in the order of their numbers.
const SIGNALS: [Weight; 30] = [
    weight(Signal::Body, 0.62, 0.00, 0.0, "words in the file"),
    weight(Signal::Title, 0.57, 0.12, 0.0, "the title's words in the file"),
    weight(Signal::Passage, 1.18, 0.00, 0.0, "words close together"),
    weight(Signal::TitlePassage, 0.50, 0.24, 0.0, "the title's words close together"),
    weight(Signal::Coverage, 0.50, 0.00, 0.0, "share of the task's words"),
    weight(Signal::SymbolParts, 0.26, 0.30, 0.0, "words in defined names"),
    weight(Signal::SymbolNames, 0.62, 0.10, 5.0, "defines what is named"),
    weight(Signal::Path, 0.60, 0.00, 0.0, "words in the path"),
    weight(Signal::TitlePath, 0.60, 0.00, 0.0, "the title's words in the path"),
    weight(Signal::Stem, 0.18, 0.00, 6.0, "named like a word of the task"),
    weight(Signal::Mention, 0.90, 0.00, 1.0, "named in the task"),
    weight(Signal::Dotted, 0.30, 0.00, 10.0, "a dotted name points here"),
    weight(Signal::Frame, 1.00, 0.00, 1.0, "in the stack trace"),
    weight(Signal::Quoted, 0.58, 0.14, 6.0, "contains a quoted text"),
    weight(Signal::Phrase, 0.15, 0.12, 10.0, "contains whole phrases"),
    weight(Signal::Imports, 0.26, 0.00, 0.0, "linked by imports"),
    weight(Signal::Together, 0.26, 0.00, 0.0, "changes together with other matches"),
    weight(Signal::Past, 0.80, 0.35, 1.0, "changed by similar commits"),
    weight(Signal::PastTitle, 0.15, 0.00, 1.0, "changed by commits with a similar title"),
    weight(Signal::Folder, 0.34, 0.00, 0.0, "in a folder with other matches"),
    weight(Signal::TestedBy, 0.15, 0.10, 1.0, "its tests match"),
    weight(Signal::Recent, 0.15, 0.00, 1.0, "changed recently"),
    weight(Signal::Busy, 0.00, -0.25, 5.0, "changed very often"),
    weight(Signal::Size, 0.46, -0.50, 9.0, "large"),
    weight(Signal::Test, -3.60, 0.00, 1.0, "a test"),
    weight(Signal::Document, -3.40, 0.00, 1.0, "documentation"),
    weight(Signal::Example, -1.00, 0.00, 1.0, "an example"),
    weight(Signal::Settings, -1.00, 0.00, 1.0, "settings or data"),
    weight(Signal::Foreign, -2.40, 0.00, 1.0, "generated or third-party"),
    weight(Signal::Entrance, 0.10, 0.00, 1.0, "a folder's main file"),
];

const _: () = {
    let mut number = 0;
    while number < COUNT {
        assert!(SIGNALS[number].signal as usize == number, "the table is in the order of the signals");
        number += 1;
    }
};

/// One column of values a signal, by file number.
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

    /// Adds to a file's value.
    pub fn add(&mut self, signal: Signal, file: usize, value: f32) {
        self.of_mut(signal)[file] += value;
    }

    /// Raises a file's value to at least this.
    pub fn raise(&mut self, signal: Signal, file: usize, value: f32) {
        let cell = &mut self.of_mut(signal)[file];
        *cell = cell.max(value);
    }

    /// Every file's score.
    pub fn scores(&self) -> Vec<f32> {
        let mut scores = vec![0.0; self.by_signal.first().map_or(0, Vec::len)];
        for number in 0..COUNT {
            for (score, part) in scores.iter_mut().zip(self.weighed(number)) {
                *score += part;
            }
        }
        scores
    }

    /// What each signal adds to the scores of `files`, with its word; nothing where it adds nothing.
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

    /// What a signal adds to each file's score.
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

/// The rank at which a file gets half of the first one's share.
const HALF_RANK: f32 = 4.0;
/// Files beyond this rank get nothing.
const LAST_RANK: usize = 60;

/// The best files by a column, each with a share of 0–1. Equals share the better rank; where they don't all fit, none counts.
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

/// The numbers of the `limit` files with the highest scores, best first; equals in the order of their numbers.
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
