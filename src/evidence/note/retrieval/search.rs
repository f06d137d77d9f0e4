//! Finds notes by words, type, tag and file. Importance and recency add only a little weight.

use crate::note::error::NoteError;
use crate::note::index::NoteListing;
use crate::note::record::{Note, NoteKind};
use crate::note::store::NoteStore;
use base::search::bm25::{Corpus, ScoredDocument};
use base::search::fold::fold;
use base::search::words::{self, Term};
use base::text;

const TITLE: f32 = 3.0;
const TAG: f32 = 3.0;
const FILE: f32 = 2.0;
const BODY: f32 = 1.0;
/// How much more importance 5 counts than importance 1.
const IMPORTANCE_SPREAD: f64 = 0.4;
/// How much more a note from today counts than an old one.
const RECENCY_SPREAD: f64 = 0.2;
/// Days after which half of the recency bonus is gone.
const RECENCY_HALF_LIFE_DAYS: f64 = 90.0;
const MAX_LINE_CHARS: usize = 160;
const MAX_LINE_TERMS: usize = 20;
const MAX_LINES: usize = 400;
/// Beyond this total, only titles, tags and files are searched.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// The search filters; empty ones don't filter.
#[derive(Clone, Debug, Default)]
pub struct NoteQuery {
    pub kind: Option<NoteKind>,
    pub tags: Vec<String>,
    /// At least one must match; a folder matches its contents.
    pub files: Vec<String>,
    pub archived: bool,
}

impl NoteQuery {
    pub fn fits(&self, note: &Note) -> bool {
        let same = |a: &str, b: &str| a.to_lowercase() == b.trim_start_matches('#').to_lowercase();
        note.archived == self.archived
            && self.kind.is_none_or(|kind| kind == note.facts.kind)
            && self.tags.iter().all(|tag| note.facts.tags.iter().any(|own| same(own, tag)))
            && (self.files.is_empty()
                || self.files.iter().any(|file| note.facts.files.iter().any(|own| touches(own, file))))
    }
}

/// Whether one path equals or contains the other.
pub fn touches(a: &str, b: &str) -> bool {
    let inside = |long: &str, short: &str| {
        long.strip_prefix(short.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let plain = |path: &'_ str| path.trim_start_matches("./").to_owned();
    let (a, b) = (plain(a), plain(b));
    inside(&a, &b) || inside(&b, &a)
}

#[derive(Clone, Debug)]
pub struct NoteMatch {
    pub at: usize,
    pub score: f64,
    /// The best matching line of the body, or its first sentence.
    pub line: String,
    pub matched: Vec<usize>,
}

pub struct Searchable {
    corpus: Corpus,
    places: Vec<usize>,
    bodies: Vec<String>,
}

impl Searchable {
    /// Reads the matching notes for this one query. Notes removed meanwhile are left out.
    pub fn new(store: &NoteStore, listing: &NoteListing, wanted: &NoteQuery, query: &[Term]) -> Self {
        let mut made = Self { corpus: Corpus::only(query), places: Vec::new(), bodies: Vec::new() };
        let mut budget = MAX_BODY_BYTES;
        for (at, note) in listing.notes.iter().enumerate().filter(|(_, note)| wanted.fits(note)) {
            let fits = note.bytes <= budget;
            budget -= if fits { note.bytes } else { 0 };
            let body = match fits.then(|| store.body(note)) {
                Some(Ok(body)) => body,
                Some(Err(NoteError::File { .. })) => continue,
                _ => String::new(),
            };
            let (tags, files) = (note.facts.tags.join(" , "), note.facts.files.join(" , "));
            let id_and_title = format!("{} , {}", note.facts.title, note.id);
            made.corpus.add(&[(TITLE, &id_and_title), (TAG, &tags), (FILE, &files), (BODY, &body)]);
            made.places.push(at);
            made.bodies.push(body);
        }
        made
    }

    pub fn rank(&self, listing: &NoteListing, query: &[Term], now_ms: u64) -> Vec<NoteMatch> {
        let mut found: Vec<NoteMatch> = self
            .corpus
            .rank(query)
            .into_iter()
            .map(|ScoredDocument { document, score, matched }| {
                let note = &listing.notes[self.places[document]];
                NoteMatch {
                    at: self.places[document],
                    score: score * standing(note, now_ms),
                    line: best_line(&self.bodies[document], query, &note.facts.gist),
                    matched,
                }
            })
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.at.cmp(&b.at)));
        found
    }

    /// Whether most notes contain the term, so that it tells little.
    pub fn is_common(&self, term: &Term) -> bool {
        let notes = self.places.len();
        notes >= 4 && self.corpus.holding(&term.text) as usize * 2 > notes
    }
}

/// A note's weight apart from its words: 1 for normal importance and today's date.
pub fn standing(note: &Note, now_ms: u64) -> f64 {
    let importance = 1.0 + IMPORTANCE_SPREAD * (f64::from(note.facts.importance) - 3.0) / 4.0;
    let fresh = 0.5_f64.powf(note.age_days(now_ms) / RECENCY_HALF_LIFE_DAYS);
    importance * (1.0 - RECENCY_SPREAD * (1.0 - fresh))
}

/// A query of nothing but stop words is matched literally.
pub fn search(
    store: &NoteStore,
    listing: &NoteListing,
    query: &str,
    wanted: &NoteQuery,
    now_ms: u64,
) -> Vec<NoteMatch> {
    let mut terms = words::telling(query);
    if terms.is_empty() {
        terms = words::terms(query);
    }
    Searchable::new(store, listing, wanted, &terms).rank(listing, &terms, now_ms)
}

fn best_line(body: &str, query: &[Term], gist: &str) -> String {
    let hits = |line: &str| {
        let lower = fold(line);
        query.iter().take(MAX_LINE_TERMS).filter(|term| lower.contains(&term.text)).count()
    };
    let best = body
        .lines()
        .take(MAX_LINES)
        .map(|line| (hits(line), line))
        .fold((0, ""), |best, line| if line.0 > best.0 { line } else { best });
    let line = if best.0 == 0 { gist } else { best.1.trim_start_matches(['#', '-', '*', '>', ' ']) };
    text::one_line(line, MAX_LINE_CHARS)
}
