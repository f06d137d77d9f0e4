//! Commits whose messages are like the task, and which files change with which.

use rustc_hash::FxHashMap;

use super::history::History;

/// Word counts saturate here, and long messages are no better than short ones.
const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.5;
/// A commit with this share of the task's weight is clearly about the same.
const CLEAR_LIKENESS: f32 = 0.5;
/// So many commits speak.
const VOICES: usize = 60;
/// After so many commits a voice has lost most of what age takes.
const AGEING_COMMITS: f32 = 1_000.0;
const AGED_SHARE: f32 = 0.5;
/// Commits with more files say nothing about any of them.
const SWEEP_FILES: usize = 40;

/// A commit that is like the task.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    /// Its number in the history.
    pub commit: usize,
    /// As a share of what a commit with all the words would have.
    pub likeness: f32,
}

/// The commits most like the weighted words, best first.
pub fn voices(history: &History, words: &[(String, f32)]) -> Vec<Voice> {
    let numbers: FxHashMap<&str, u32> =
        history.terms.iter().zip(0..).map(|(term, number)| (term.as_str(), number)).collect();
    let wanted: FxHashMap<u32, f32> =
        words.iter().filter_map(|(word, weight)| Some((*numbers.get(word.as_str())?, *weight))).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
    let mut length = 0_u64;
    for commit in &history.commits {
        for (term, times) in &commit.terms {
            length += u64::from(*times);
            if wanted.contains_key(term) {
                *seen.entry(*term).or_default() += 1;
            }
        }
    }
    let count = history.commits.len() as f32;
    let mean = (length as f32 / count).max(1.0);
    let mut voices: Vec<Voice> = Vec::new();
    for (number, commit) in history.commits.iter().enumerate() {
        if commit.files.is_empty() || commit.files.len() > SWEEP_FILES {
            continue;
        }
        let own: u32 = commit.terms.iter().map(|(_, times)| times).sum();
        let norm = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * own as f32 / mean);
        let mut likeness = 0.0;
        for (term, times) in &commit.terms {
            if let Some(weight) = wanted.get(term) {
                let df = seen.get(term).copied().unwrap_or(0) as f32;
                let rarity = (1.0 + (count - df + 0.5) / (df + 0.5)).ln();
                let times = *times as f32;
                likeness += weight * rarity * times / (times + norm);
            }
        }
        if likeness > 0.0 {
            let age = (-(number as f32) / AGEING_COMMITS).exp();
            voices
                .push(Voice { commit: number, likeness: likeness * (AGED_SHARE + (1.0 - AGED_SHARE) * age) });
        }
    }
    voices.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then(a.commit.cmp(&b.commit)));
    voices.truncate(VOICES);
    let whole: f32 = wanted
        .iter()
        .map(|(term, weight)| {
            let df = seen.get(term).copied().unwrap_or(0) as f32;
            weight * (1.0 + (count - df + 0.5) / (df + 0.5)).ln() / (1.0 + SATURATION)
        })
        .sum();
    voices.iter_mut().for_each(|voice| voice.likeness /= whole.max(f32::MIN_POSITIVE));
    voices
}

/// How strongly the voices speak for each file (by its number in the history).
pub fn spoken_for(history: &History, voices: &[Voice]) -> FxHashMap<u32, f32> {
    let best = voices.first().map_or(1.0, |voice| voice.likeness).max(f32::MIN_POSITIVE);
    // When even the best says little of the task, all of them whisper.
    let loudness = (best / CLEAR_LIKENESS).min(1.0);
    let mut files: FxHashMap<u32, f32> = FxHashMap::default();
    for voice in voices {
        let commit = &history.commits[voice.commit];
        let strength = loudness * (voice.likeness / best).powi(2) / (commit.files.len() as f32).sqrt();
        for file in &commit.files {
            *files.entry(*file).or_default() += strength;
        }
    }
    files
}

/// For each file (by number) how strongly it changed together with the given ones, each with its weight.
pub fn together(history: &History, seeds: &FxHashMap<u32, f32>) -> FxHashMap<u32, f32> {
    let mut changes: FxHashMap<u32, f32> = FxHashMap::default();
    for commit in &history.commits {
        for file in &commit.files {
            *changes.entry(*file).or_default() += 1.0;
        }
    }
    let mut found: FxHashMap<u32, f32> = FxHashMap::default();
    for commit in &history.commits {
        if commit.files.len() < 2 || commit.files.len() > SWEEP_FILES {
            continue;
        }
        let share = 1.0 / (commit.files.len() as f32 - 1.0).sqrt();
        for seed in &commit.files {
            let Some(weight) = seeds.get(seed) else { continue };
            let seed_changes = changes.get(seed).copied().unwrap_or(1.0);
            for other in &commit.files {
                if other != seed {
                    let other_changes = changes.get(other).copied().unwrap_or(1.0);
                    // Half way between "how often with the seed" and "how often at all": busy files go with everything.
                    *found.entry(*other).or_default() +=
                        weight * share / (seed_changes * other_changes).sqrt();
                }
            }
        }
    }
    found
}

/// For each file (by number): how often it changed, the last time counted from the newest commit.
pub fn activity(history: &History) -> Vec<(u32, u32)> {
    let mut files = vec![(0, u32::MAX); history.files.len()];
    for (number, commit) in history.commits.iter().enumerate() {
        if commit.files.len() > SWEEP_FILES {
            continue;
        }
        for file in &commit.files {
            let (changes, last) = &mut files[*file as usize];
            *changes += 1;
            *last = (*last).min(number as u32);
        }
    }
    files
}
