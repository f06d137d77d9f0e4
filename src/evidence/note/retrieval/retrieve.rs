//! Selects notes for a task within a budget: blockers first, then the best matches. Unrelated open blockers may be
//! included.

use std::collections::HashSet;

use super::graph;
use super::search::{NoteMatch, NoteQuery, Searchable, standing, touches};
use crate::note::index::NoteListing;
use crate::note::record::{Note, NoteKind};
use crate::note::store::NoteStore;
use base::search::words::{self, Term, TermKind};
use base::text;

const MAX_NOTES: usize = 3;
const MAX_HINTS: usize = 10;
/// Terms used from a task; the start of a long text tells what it is about.
const MAX_TERMS: usize = 120;
/// Weights of matched terms by kind; a note needs [`needed`] in total.
const IDENTIFIER_WEIGHT: f64 = 2.0;
const WORD_WEIGHT: f64 = 1.0;
const PART_WEIGHT: f64 = 0.5;
/// A match in the title, tags, files or first sentence counts more, because elsewhere the word may be incidental.
const HEAD_FACTOR: f64 = 1.6;
/// Naming one of the note's files is enough to relate a task to it.
const FILE_WEIGHT: f64 = 3.0;
/// Matched weight of a perfect fit.
const FULL_WEIGHT: f64 = 6.0;
/// Share of a type's relevance that remains for a weak match; 0–1.
const RELEVANCE_FLOOR: f64 = 0.5;
/// A neighbor this close to a fitting note counts as a weak match; 0–1.
const CLOSE: f64 = 0.6;
const MAX_EXCERPT_CHARS: usize = 700;
const MIN_EXCERPT_CHARS: usize = 80;
const MAX_HINT_CHARS: usize = 220;

pub struct NoteTask<'a> {
    pub text: &'a str,
    pub files: &'a [String],
    pub budget_tokens: u32,
    /// 0–1; open blockers are exempt.
    pub min_relevance: f64,
    pub tokens: &'a dyn Fn(&str) -> u32,
    /// Whether the model already sees this exact version of the note.
    pub shown: &'a dyn Fn(&Note) -> bool,
    pub now_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteForm {
    Note,
    Hint,
}

#[derive(Clone, Debug)]
pub struct Packet {
    pub content: String,
    /// When the note changed, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
    pub tokens: u32,
    pub relevance: f64,
    pub source: String,
    /// The start of the content's hash.
    pub version: String,
    pub kind: NoteKind,
    pub form: NoteForm,
}

pub fn version(note: &Note) -> &str {
    &note.hash[..note.hash.floor_char_boundary(8)]
}

struct NoteCandidate {
    at: usize,
    /// 0–1; 0 for an open blocker unrelated to the task.
    fit: f64,
    score: f64,
}

pub fn retrieve(store: &NoteStore, listing: &NoteListing, task: &NoteTask<'_>) -> Vec<Packet> {
    if !listing.notes.iter().any(|note| !note.archived) {
        return Vec::new();
    }
    let query: Vec<Term> = words::telling(task.text).into_iter().take(MAX_TERMS).collect();
    let searchable = Searchable::new(store, listing, &NoteQuery::default(), &query);
    let mut candidates = candidates(listing, &searchable, &query, task);
    add_neighbors(listing, &mut candidates);
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.at.cmp(&b.at)));
    candidates.retain(|candidate| {
        let note = &listing.notes[candidate.at];
        !(task.shown)(note) && (candidate.fit >= task.min_relevance || note.is_open_blocker())
    });
    let is_hint = |candidate: &&NoteCandidate| {
        let kind = listing.notes[candidate.at].facts.kind;
        matches!(kind, NoteKind::Gotcha | NoteKind::Pattern | NoteKind::Outcome)
    };
    let notes =
        chosen(listing, &candidates, is_hint).into_iter().map(|candidate| (candidate, NoteForm::Note));
    let hints =
        candidates.iter().filter(is_hint).take(MAX_HINTS).map(|candidate| (candidate, NoteForm::Hint));
    let mut left = task.budget_tokens;
    let mut packets = Vec::new();
    for (candidate, form) in notes.chain(hints) {
        if let Some(packet) = packet(store, &listing.notes[candidate.at], candidate.fit, form, left, task) {
            left -= packet.tokens;
            packets.push(packet);
        }
    }
    packets
}

fn candidates(
    listing: &NoteListing,
    searchable: &Searchable,
    query: &[Term],
    task: &NoteTask<'_>,
) -> Vec<NoteCandidate> {
    let found = searchable.rank(listing, query, task.now_ms);
    let best = found.first().map_or(1.0, |first| first.score.max(f64::MIN_POSITIVE));
    let needed = needed(query);
    let mut made: Vec<NoteCandidate> = Vec::new();
    for (at, note) in listing.notes.iter().enumerate().filter(|(_, note)| !note.archived) {
        let hit = found.iter().find(|found| found.at == at);
        let words = hit.map_or(0.0, |hit| weight(hit, note, query, searchable));
        let named =
            note.facts.files.iter().any(|file| {
                task.files.iter().any(|hinted| touches(file, hinted)) || names_file(task.text, file)
            });
        let total = words + if named { FILE_WEIGHT } else { 0.0 };
        let fit = if total >= needed { (total / FULL_WEIGHT).min(1.0) } else { 0.0 };
        if fit == 0.0 && !note.is_open_blocker() {
            continue;
        }
        let rank = hit.map_or(0.0, |hit| hit.score / best);
        let score = (fit + rank * f64::from(u8::from(fit > 0.0))) * standing(note, task.now_ms);
        made.push(NoteCandidate { at, fit, score });
    }
    made
}

/// A short question needs one significant word, a long text more, because chance matches are common there.
fn needed(query: &[Term]) -> f64 {
    let words = query.iter().filter(|term| term.kind != TermKind::Part).count();
    match words {
        0..=2 => WORD_WEIGHT,
        3..=8 => WORD_WEIGHT * 1.5,
        9..=25 => WORD_WEIGHT * 2.0,
        _ => WORD_WEIGHT * 3.0,
    }
}

/// The weight of what matched. A word in most notes tells little about any of them.
fn weight(hit: &NoteMatch, note: &Note, query: &[Term], searchable: &Searchable) -> f64 {
    let facts = &note.facts;
    let head = [&facts.title, &facts.gist, &facts.tags.join(" , "), &facts.files.join(" , ")]
        .map(String::as_str)
        .join(" . ");
    let head: HashSet<String> = words::terms(&head).into_iter().map(|term| term.text).collect();
    hit.matched
        .iter()
        .map(|&place| {
            let term = &query[place];
            let own = match term.kind {
                TermKind::Identifier => IDENTIFIER_WEIGHT,
                TermKind::Word => WORD_WEIGHT,
                TermKind::Part => PART_WEIGHT,
            };
            let common = if searchable.is_common(term) { 0.5 } else { 1.0 };
            own * common * if head.contains(&term.text) { HEAD_FACTOR } else { 1.0 }
        })
        .sum()
}

fn names_file(text: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stands_alone = |needle: &str| {
        text.match_indices(needle).any(|(at, _)| {
            let touching = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            !text[..at].chars().next_back().is_some_and(touching)
                && !text[at + needle.len()..].chars().next().is_some_and(touching)
        })
    };
    stands_alone(file) || (name.contains('.') && name.len() >= 5 && stands_alone(name))
}

/// Adds close neighbors of fitting notes as weaker candidates.
fn add_neighbors(listing: &NoteListing, candidates: &mut Vec<NoteCandidate>) {
    let fitting: Vec<(usize, f64)> =
        candidates.iter().filter(|c| c.fit > 0.0).map(|c| (c.at, c.score)).take(MAX_NOTES * 4).collect();
    for (at, score) in fitting {
        for near in graph::related(&listing.notes, at, MAX_NOTES) {
            let known = candidates.iter().any(|candidate| candidate.at == near.at && candidate.fit > 0.0);
            if near.weight < CLOSE || known {
                continue;
            }
            candidates.retain(|candidate| candidate.at != near.at);
            // Always ranked after the note that led to it.
            candidates.push(NoteCandidate {
                at: near.at,
                fit: 0.1 * near.weight,
                score: score * near.weight * 0.4,
            });
        }
    }
}

/// The notes to show: matching blockers, then at least one other open blocker, then the best matches.
fn chosen<'a>(
    listing: &NoteListing,
    candidates: &'a [NoteCandidate],
    is_hint: impl Fn(&&NoteCandidate) -> bool,
) -> Vec<&'a NoteCandidate> {
    let (blockers, others): (Vec<&NoteCandidate>, Vec<&NoteCandidate>) =
        candidates.iter().partition(|candidate| listing.notes[candidate.at].is_open_blocker());
    let (mut chosen, mut idle): (Vec<&NoteCandidate>, Vec<&NoteCandidate>) =
        blockers.into_iter().partition(|candidate| candidate.fit > 0.0);
    idle.sort_by_key(|candidate| {
        let note = &listing.notes[candidate.at];
        std::cmp::Reverse((note.facts.importance, note.changed_ms))
    });
    let others: Vec<&NoteCandidate> =
        others.into_iter().filter(|candidate| candidate.fit > 0.0 && !is_hint(candidate)).collect();
    chosen.truncate(MAX_NOTES);
    let room = MAX_NOTES - chosen.len();
    let for_idle = room.saturating_sub(others.len()).max(usize::from(room > 0));
    chosen.extend(idle.into_iter().take(for_idle));
    chosen.extend(others);
    chosen.truncate(MAX_NOTES);
    chosen
}

/// The longest version of a note that fits in `left` tokens.
fn packet(
    store: &NoteStore,
    note: &Note,
    fit: f64,
    form: NoteForm,
    left: u32,
    task: &NoteTask<'_>,
) -> Option<Packet> {
    let base = match note.facts.kind {
        NoteKind::Blocker => 0.9,
        NoteKind::Action => 0.8,
        NoteKind::TaskState => 0.75,
        NoteKind::Conclusion => 0.7,
        _ => 0.6,
    };
    let mut contents: Box<dyn Iterator<Item = String>> = match form {
        NoteForm::Hint => Box::new(std::iter::once_with(|| hint(note))),
        NoteForm::Note => {
            let lengths = std::iter::successors(Some(MAX_EXCERPT_CHARS), |chars| Some(chars / 2));
            let lengths = lengths.take_while(|chars| *chars >= MIN_EXCERPT_CHARS);
            Box::new(lengths.map(|chars| excerpt(store, note, chars)))
        }
    };
    let fits = contents.find_map(|content| {
        let tokens = (task.tokens)(&content);
        (tokens <= left).then_some((content, tokens))
    });
    fits.map(|(content, tokens)| Packet {
        content,
        timestamp_ms: note.changed_ms,
        tokens,
        relevance: base * (RELEVANCE_FLOOR + (1.0 - RELEVANCE_FLOOR) * fit),
        source: note.id.clone(),
        version: version(note).to_owned(),
        kind: note.facts.kind,
        form,
    })
}

/// One line: the title, and the first sentence if it adds something.
fn hint(note: &Note) -> String {
    let (title, gist) = (&note.facts.title, &note.facts.gist);
    let line = match gist.as_str() {
        "" => title.clone(),
        gist if gist.contains(title.as_str()) && gist.chars().count() < MAX_HINT_CHARS => gist.to_owned(),
        gist => format!("{title}: {gist}"),
    };
    text::one_line(&line, MAX_HINT_CHARS)
}

fn excerpt(store: &NoteStore, note: &Note, max_chars: usize) -> String {
    let mut excerpt = note.facts.title.clone();
    if !note.facts.files.is_empty() {
        let files = note.facts.files.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        excerpt.push_str(&format!(" ({files})"));
    }
    let body = store.body(note).unwrap_or_default();
    let mut told = body.as_str();
    // Skip a heading that repeats the title.
    if let Some((first, rest)) = body.split_once('\n')
        && first.trim_start_matches('#').trim() == note.facts.title
    {
        told = rest.trim_start();
    }
    if !told.is_empty() && told.trim() != note.facts.title {
        excerpt.push('\n');
        excerpt.push_str(&text::elide(told, max_chars));
    }
    excerpt
}
