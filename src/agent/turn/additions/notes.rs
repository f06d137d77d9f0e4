//! Notes in a turn: a block of notes relevant to a new task, and hints about the files it seems to concern.
//! The block is found by the user's words and files, hints by files alone; neither repeats the other.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::session::conversation::Conversation;
use base::config::settings::NoteLimits;
use base::model::item::Item;
use base::{clock, sanitize};
use context::mention;
use context::tokens::estimate;
use evidence::hints::ContextPacket;
use evidence::note::record::Note;
use evidence::note::retrieval::frame;
use evidence::note::retrieval::retrieve::{self, NoteForm, NoteTask, Packet};
use evidence::note::store::NoteStore;
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;

/// Tokens that the search collects; the context picks from them.
const GATHERED_TOKENS: u32 = 4_000;
const LINE: &str = "Note: ";

/// The share of the window for notes (1/40).
const NOTE_PART_OF_WINDOW: u64 = 40;

/// Hints from notes about these files; none if the notes can't be read.
pub fn hints(root: &Path, files: &[String]) -> Vec<ContextPacket> {
    let store = NoteStore::new(root);
    let Ok(listing) = store.list() else { return Vec::new() };
    let task = NoteTask {
        text: "",
        files,
        budget_tokens: GATHERED_TOKENS,
        min_relevance: 0.0,
        tokens: &estimate::estimate,
        shown: &|_| false,
        now_ms: clock::now_ms(),
    };
    let found = retrieve::retrieve(&store, &listing, &task).into_iter();
    let packet = |packet: Packet| {
        let mark = frame::mark(&packet.source, &packet.version);
        // A note's text must not end the block or imitate the program.
        let said = sanitize::clean(&packet.content).replace('<', "‹");
        ContextPacket {
            content: format!("{} {mark}: {said}", packet.kind.as_str()),
            timestamp_s: packet.timestamp_ms / 1000,
            tokens: packet.tokens,
            relevance: packet.relevance,
        }
    };
    found.filter(|packet| packet.form == NoteForm::Hint).map(packet).collect()
}

pub fn hint_mark(hint: &str) -> Option<&str> {
    let (mark, _) = hint.split_once(' ')?.1.split_once(": ")?;
    mark.contains('@').then_some(mark)
}

/// The marks of the hints in a task's context; empty for any other text.
pub fn hint_marks(block: &str) -> impl Iterator<Item = &str> {
    let lines = if block.starts_with("<task-context>") { block } else { "" };
    lines.lines().filter_map(|line| hint_mark(line.strip_prefix(LINE)?))
}

pub fn budget(window_tokens: u64, limits: NoteLimits) -> u64 {
    (window_tokens / NOTE_PART_OF_WINDOW).min(limits.max_tokens)
}

/// Relevant notes that the model doesn't have. Unreadable notes must not fail a turn; `mycode notes` reports them.
pub fn block(
    text: &str,
    root: &Path,
    redactor: &Redactor,
    shown: &HashSet<String>,
    (budget, min_relevance): (u64, f64),
) -> Option<String> {
    let store = NoteStore::new(root);
    let listing = store.list().ok()?;
    let files: Vec<String> = mention::mentions(text).into_iter().map(|mention| mention.path).collect();
    let mut packets = retrieve::retrieve(
        &store,
        &listing,
        &NoteTask {
            text,
            files: &files,
            budget_tokens: u32::try_from(budget).unwrap_or(u32::MAX),
            min_relevance,
            tokens: &estimate::estimate,
            shown: &|note: &Note| shown.contains(&frame::mark(&note.id, retrieve::version(note))),
            now_ms: clock::now_ms(),
        },
    );
    // The frame counts too. Notes are dropped from the end.
    while let Some(block) = frame::block(&packets) {
        let block = redactor.redact(&block, TextSource::Text);
        if u64::from(estimate::estimate(&block)) <= budget {
            return Some(block.into_owned());
        }
        packets.pop();
    }
    None
}

/// The marks of the notes in the history. Archived ones may be shown again.
pub fn shown(conversation: &Conversation) -> HashSet<String> {
    let messages = conversation.state.history.entries().iter().filter_map(|entry| match &*entry.item {
        Item::User(message) => Some(message),
        _ => None,
    });
    let blocks = messages.flat_map(|message| &message.injected);
    let marks = |block: &Arc<str>| {
        let hinted = hint_marks(block).map(str::to_owned);
        frame::marks(block).into_iter().chain(hinted).collect::<Vec<_>>()
    };
    blocks.flat_map(marks).collect()
}
