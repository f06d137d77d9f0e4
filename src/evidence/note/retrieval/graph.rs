//! The graph of notes: neighbors link to each other, or share files or tags.

use std::collections::HashMap;

use super::search::touches;
use crate::note::record::Note;

const LINK: f64 = 1.0;
const SAME_FILE: f64 = 0.6;
/// For a tag that only two notes share; more common tags count less.
const SAME_TAG: f64 = 0.4;
const MAX_SHARED: f64 = 0.9;

#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    pub at: usize,
    /// How closely related, 0–1.
    pub weight: f64,
    /// Such as `linked` or `src/a.rs`.
    pub reasons: Vec<String>,
}

/// The notes most related to the one at `from`, closest first, without archived ones.
pub fn related(notes: &[Note], from: usize, count: usize) -> Vec<Neighbor> {
    let Some(center) = notes.get(from) else { return Vec::new() };
    let mut tag_counts: HashMap<String, usize> = HashMap::new();
    for note in notes.iter().filter(|note| !note.archived) {
        for tag in &note.facts.tags {
            *tag_counts.entry(tag.to_lowercase()).or_default() += 1;
        }
    }
    let mut neighbors: Vec<Neighbor> = notes
        .iter()
        .enumerate()
        .filter(|(at, note)| *at != from && !note.archived)
        .filter_map(|(at, note)| {
            let mut reasons = Vec::new();
            let mut shared: f64 = 0.0;
            for file in &note.facts.files {
                if center.facts.files.iter().any(|own| touches(own, file)) {
                    shared += SAME_FILE;
                    reasons.push(file.clone());
                }
            }
            for tag in note.facts.tags.iter().map(|tag| tag.to_lowercase()) {
                if center.facts.tags.iter().any(|own| own.to_lowercase() == tag) {
                    let others = tag_counts.get(&tag).copied().unwrap_or(2).max(2) - 1;
                    shared += SAME_TAG / (others as f64).sqrt();
                    reasons.push(format!("#{tag}"));
                }
            }
            let mut weight = shared.min(MAX_SHARED);
            if names(center, note) || names(note, center) {
                weight = LINK;
                reasons.insert(0, "linked".to_owned());
            }
            (weight > 0.0).then_some(Neighbor { at, weight, reasons })
        })
        .collect();
    neighbors.sort_by(|a, b| {
        b.weight
            .total_cmp(&a.weight)
            .then_with(|| notes[b.at].facts.importance.cmp(&notes[a.at].facts.importance))
            .then_with(|| a.at.cmp(&b.at))
    });
    neighbors.truncate(count);
    neighbors
}

fn names(one: &Note, other: &Note) -> bool {
    let title = other.facts.title.to_lowercase();
    let stem = other.file.strip_suffix(".md").unwrap_or(&other.file);
    one.facts.links.iter().any(|link| *link == other.id || link == stem || link.to_lowercase() == title)
}
