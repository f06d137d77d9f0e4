//! Suggests notes to archive: faded ones, duplicates, and notes on missing files. The user decides.

use std::collections::HashSet;

use super::index::NoteListing;
use super::record::{Note, NoteKind};
use super::store::NoteStore;
use base::search::words;
use base::text::plural;

/// A note below this strength (0–1) has faded.
const FADED: f64 = 0.1;
/// Notes that share this much of their words are duplicates; 0–1.
const SAME: f64 = 0.8;
/// Notes with fewer different words are too short to compare.
const MIN_WORDS: usize = 4;
const MAX_COMPARED: usize = 2_000;

#[derive(Clone, Debug)]
pub struct Proposal {
    pub at: usize,
    pub reason: String,
}

/// A note's relevance, 0–1: its importance, halved once per half-life. Open blockers don't fade.
pub fn strength(note: &Note, now_ms: u64) -> f64 {
    let half_life_days = match note.facts.kind {
        NoteKind::Blocker if note.is_open_blocker() => return 1.0,
        NoteKind::TaskState => 14.0,
        NoteKind::Blocker | NoteKind::Action => 30.0,
        NoteKind::Outcome => 120.0,
        NoteKind::General | NoteKind::Conclusion => 365.0,
        NoteKind::Gotcha | NoteKind::Pattern | NoteKind::Reference => 730.0,
    };
    f64::from(note.facts.importance) / 5.0 * 0.5_f64.powf(note.age_days(now_ms) / half_life_days)
}

/// In the order of the listing. Of two duplicates, the older one is proposed.
pub fn proposals(store: &NoteStore, listing: &NoteListing, now_ms: u64) -> Vec<Proposal> {
    let current: Vec<usize> =
        (0..listing.notes.len()).filter(|&at| !listing.notes[at].archived).take(MAX_COMPARED).collect();
    let bags: Vec<HashSet<String>> = current
        .iter()
        .map(|&at| {
            let note = &listing.notes[at];
            let text = format!("{}\n{}", note.facts.title, store.body(note).unwrap_or_default());
            words::telling(&text).into_iter().map(|term| term.text).collect()
        })
        .collect();
    let mut proposals = Vec::new();
    for (number, &at) in current.iter().enumerate() {
        let note = &listing.notes[at];
        let newer_twin = current.iter().enumerate().find(|&(other_number, &other)| {
            other != at
                && (listing.notes[other].changed_ms, other) > (note.changed_ms, at)
                && listing.notes[other].facts.kind == note.facts.kind
                && alike(&bags[number], &bags[other_number]) >= SAME
        });
        let files = &note.facts.files;
        let gone = files.iter().filter(|file| !store.folder.root.join(file).exists()).count();
        let age_days = note.age_days(now_ms) as usize;
        let reason = if let Some((_, &twin)) = newer_twin {
            let twin = &listing.notes[twin];
            format!("duplicates {} ({})", twin.id, twin.facts.title)
        } else if note.is_open_blocker() {
            continue;
        } else if !files.is_empty() && gone == files.len() {
            format!(
                "is only about {} that no longer exist{}",
                plural(gone, "file"),
                if gone == 1 { "s" } else { "" }
            )
        } else if strength(note, now_ms) < FADED {
            format!(
                "{} of importance {}, unchanged for {}",
                note.facts.kind.as_str(),
                note.facts.importance,
                plural(age_days, "day")
            )
        } else {
            continue;
        };
        proposals.push(Proposal { at, reason });
    }
    proposals
}

/// Shared words as a share of all words; 0–1.
fn alike(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    if fewer < MIN_WORDS || (fewer as f64) < more as f64 * SAME {
        return 0.0;
    }
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both) as f64
}
