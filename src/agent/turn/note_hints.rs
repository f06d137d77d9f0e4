//! Notes about the files that a new task seems to be about, as hints of its context. They are found by those files alone:
//! what the user's own words and files lead to stands in `<project-notes>`, and neither repeats the other.

use std::path::PathBuf;

use crate::base::clock;
use crate::base::sanitize;
use crate::context::tokens::estimate;
use crate::evidence::hints::{ContextPacket, HintSource};
use crate::evidence::keywords::Keyword;
use crate::note::frame;
use crate::note::retrieve::{self, Form, Task};
use crate::note::store::Store;

/// What the search may gather, in tokens; the context chooses among it.
const GATHERED_TOKENS: u32 = 4_000;
/// How a hint's line begins in the context.
const LINE: &str = "Note: ";

/// The notes of one project.
pub struct NoteHints {
    pub root: PathBuf,
}

impl HintSource for NoteHints {
    fn name(&self) -> &str {
        "notes"
    }

    fn hints(&self, _: &[Keyword], files: &[String]) -> Result<Vec<ContextPacket>, String> {
        let store = Store::new(&self.root);
        let listing = store.list().map_err(|error| error.to_string())?;
        let task = Task {
            text: "",
            files,
            budget_tokens: GATHERED_TOKENS,
            tokens: &estimate::estimate,
            shown: &|_| false,
            now_ms: clock::now_ms(),
        };
        let hints = retrieve::retrieve(&store, &listing, &task).into_iter();
        Ok(hints
            .filter(|packet| packet.form == Form::Hint)
            .map(|packet| {
                let mark = frame::mark(&packet.source, &packet.version);
                // What a note says cannot end the block, nor imitate the program.
                let said = sanitize::clean(&packet.content).replace('<', "‹");
                ContextPacket {
                    content: format!("{} {mark}: {said}", packet.kind.as_str()),
                    timestamp_s: packet.timestamp_ms / 1000,
                    tokens: packet.tokens,
                    relevance: packet.relevance,
                    source: packet.source,
                }
            })
            .collect())
    }
}

/// The mark of the note that a hint made here tells of.
pub fn mark(hint: &str) -> Option<&str> {
    let (mark, _) = hint.split_once(' ')?.1.split_once(": ")?;
    mark.contains('@').then_some(mark)
}

/// The marks of the hints in a task's context; none in any other text.
pub fn marks(block: &str) -> impl Iterator<Item = &str> {
    let lines = if block.starts_with("<task-context>") { block } else { "" };
    lines.lines().filter_map(|line| mark(line.strip_prefix(LINE)?))
}
