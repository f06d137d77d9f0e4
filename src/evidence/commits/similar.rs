//! Finds commits with messages similar to the task, and files that change together.

use rustc_hash::FxHashMap;

use super::history::CommitHistory;
use base::search::bm25::rarity;

/// BM25 parameters: word counts saturate, and long messages gain no advantage.
const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.5;
/// A commit with this share of the task's weight is clearly about the same thing.
const CLEAR_LIKENESS: f32 = 0.5;
const MAX_SIMILAR: usize = 60;
/// Decay of a commit's weight with age, and the share that remains.
const AGEING_COMMITS: f32 = 1_000.0;
const AGED_SHARE: f32 = 0.5;
const LATELY_COMMITS: f32 = 300.0;
/// Commits with more files tell nothing about any of them.
const SWEEP_FILES: usize = 40;

#[derive(Clone, Copy, Debug)]
pub struct SimilarCommit {
    commit: usize,
    /// Relative to a commit that contains all the words.
    likeness: f32,
}

pub fn similar(history: &CommitHistory, words: &[(&str, f32)]) -> Vec<SimilarCommit> {
    let numbers: FxHashMap<&str, u32> =
        history.terms.iter().zip(0..).map(|(term, number)| (term.as_str(), number)).collect();
    let mut wanted: FxHashMap<u32, f32> =
        words.iter().filter_map(|(word, weight)| Some((*numbers.get(word)?, *weight))).collect();
    let terms = || history.commits.iter().flat_map(|commit| &commit.terms);
    let mut holders: FxHashMap<u32, usize> = FxHashMap::default();
    for (term, _) in terms().filter(|(term, _)| wanted.contains_key(term)) {
        *holders.entry(*term).or_default() += 1;
    }
    for (term, weight) in &mut wanted {
        *weight *= rarity(holders.get(term).copied().unwrap_or(0), history.commits.len());
    }
    let length: u64 = terms().map(|(_, times)| u64::from(*times)).sum();
    let mean = (length as f32 / history.commits.len() as f32).max(1.0);
    let mut found: Vec<SimilarCommit> = Vec::new();
    for (number, commit) in history.commits.iter().enumerate() {
        if commit.files.is_empty() || commit.files.len() > SWEEP_FILES {
            continue;
        }
        let own: u32 = commit.terms.iter().map(|(_, times)| times).sum();
        let norm = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * own as f32 / mean);
        let matched =
            commit.terms.iter().filter_map(|(term, times)| Some((wanted.get(term)?, *times as f32)));
        let likeness: f32 = matched.map(|(weight, times)| weight * times / (times + norm)).sum();
        if likeness > 0.0 {
            let age = (-(number as f32) / AGEING_COMMITS).exp();
            let likeness = likeness * (AGED_SHARE + (1.0 - AGED_SHARE) * age);
            found.push(SimilarCommit { commit: number, likeness });
        }
    }
    found.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then(a.commit.cmp(&b.commit)));
    found.truncate(MAX_SIMILAR);
    let mut weights: Vec<f32> = wanted.into_values().collect();
    // Sorted, so that the floating-point sum is the same each time.
    weights.sort_by(f32::total_cmp);
    let whole = weights.iter().sum::<f32>() / (1.0 + SATURATION);
    found.iter_mut().for_each(|commit| commit.likeness /= whole.max(f32::MIN_POSITIVE));
    found
}

/// How strongly the similar commits point to each file (by number).
pub fn changed_by(history: &CommitHistory, commits: &[SimilarCommit]) -> FxHashMap<u32, f32> {
    let best = commits.first().map_or(1.0, |commit| commit.likeness).max(f32::MIN_POSITIVE);
    // If even the best is only weakly similar, none counts much.
    let confidence = (best / CLEAR_LIKENESS).min(1.0);
    let mut files: FxHashMap<u32, f32> = FxHashMap::default();
    for similar in commits {
        let commit = &history.commits[similar.commit];
        let strength = confidence * (similar.likeness / best).powi(2) / (commit.files.len() as f32).sqrt();
        for file in &commit.files {
            *files.entry(*file).or_default() += strength;
        }
    }
    files
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ChangedWith {
    pub times: u32,
    /// As a share of the marked files' changes.
    pub often: f32,
    pub lately: f32,
}

/// How files (by number) changed together with those marked in `seeds`.
pub fn changed_with(history: &CommitHistory, seeds: &[bool]) -> FxHashMap<u32, ChangedWith> {
    let marked = |files: &[u32]| files.iter().filter(|file| seeds[**file as usize]).count() as f32;
    let changes: f32 = history.commits.iter().map(|commit| marked(&commit.files)).sum();
    let mut found: FxHashMap<u32, ChangedWith> = FxHashMap::default();
    for (age, commit) in history.commits.iter().enumerate() {
        let with = marked(&commit.files);
        if with == 0.0 || !(2..=SWEEP_FILES).contains(&commit.files.len()) {
            continue;
        }
        let share = with / (commit.files.len() as f32 - 1.0).sqrt();
        for file in commit.files.iter().filter(|file| !seeds[**file as usize]) {
            let found = found.entry(*file).or_default();
            found.times += 1;
            found.often += share / changes;
            found.lately += share * (-(age as f32) / LATELY_COMMITS).exp();
        }
    }
    found
}

pub fn changes(history: &CommitHistory) -> Vec<u32> {
    let mut changes = vec![0; history.files.len()];
    let small = history.commits.iter().filter(|commit| commit.files.len() <= SWEEP_FILES);
    small.flat_map(|commit| &commit.files).for_each(|file| changes[*file as usize] += 1);
    changes
}
