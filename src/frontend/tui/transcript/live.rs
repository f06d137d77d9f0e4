//! The part of the transcript that still changes: the streaming answer and running calls. Finished pieces
//! leave in order from the front.

use std::sync::Arc;

use super::entry::TranscriptEntry;
use super::tool::{self, ToolView};
use crate::tui::render::highlight::languages;
use crate::tui::render::highlight::scanner::{self, State};
use base::model::item::ToolResult;

/// Longer open code blocks or paragraphs are passed on in parts, so that redrawing stays cheap.
const PART_BYTES: usize = 4 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Answer(StreamingReply),
    Reasoning { text: String, done: bool },
    Tool(ToolView),
}

#[derive(Clone, Debug, PartialEq)]
struct Fence {
    mark: String,
    info: String,
    state: State,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamingReply {
    open: String,
    passed: usize,
    parts: usize,
    fence: Option<Fence>,
    tight: bool,
    done: bool,
}

impl StreamingReply {
    fn entry(&self, markdown: &str) -> TranscriptEntry {
        let code = self.fence.as_ref().map(|fence| fence.state);
        let markdown = match &self.fence {
            Some(fence) => format!("{}{}\n{markdown}", fence.mark, fence.info),
            None => markdown.to_owned(),
        };
        TranscriptEntry::Answer { markdown, tight: self.tight, code }
    }

    fn take_finished(&mut self) -> Option<TranscriptEntry> {
        let (cut, fence) = self.cut()?;
        let entry = self.entry(&self.open[..cut]);
        self.tight = fence.is_some() || !self.open[..cut].ends_with("\n\n");
        self.open.drain(..cut);
        self.passed += cut;
        self.parts += 1;
        self.fence = fence;
        Some(entry)
    }

    fn cut(&self) -> Option<(usize, Option<Fence>)> {
        let mut fence = self.fence.clone();
        let mut code = 0;
        let mut best = None;
        let mut at = 0;
        let (mut blank_before, mut in_list) = (false, false);
        for line in self.open.split_inclusive('\n') {
            let starts_block = line.starts_with(|c: char| !c.is_whitespace());
            if starts_block && fence.is_none() {
                let item = starts_item(line);
                if blank_before || (in_list && item) {
                    best = Some((at, None));
                }
                in_list = item || (in_list && !blank_before);
            }
            let trimmed = line.trim_start();
            match &fence {
                Some(open) if trimmed.starts_with(&open.mark) && line.ends_with('\n') => fence = None,
                Some(_) => {}
                None => {
                    fence = fence_of(trimmed);
                    code = at + line.len();
                }
            }
            at += line.len();
            blank_before = line.ends_with('\n') && trimmed.is_empty();
            if at > PART_BYTES && line.ends_with('\n') && fence.is_some() {
                best = Some((at, fence.clone()));
            }
        }
        if let Some((cut, Some(fence))) = &mut best {
            fence.advance(&self.open[code.min(*cut)..*cut]);
        }
        if best.is_none() && self.open.len() > 4 * PART_BYTES {
            // One endless paragraph or line: cut at the last whitespace.
            let space = self.open.rfind(char::is_whitespace);
            let behind = |at: usize| at + self.open[at..].chars().next().map_or(1, char::len_utf8);
            best = Some((space.map_or(self.open.floor_char_boundary(PART_BYTES), behind), fence));
        }
        best.filter(|(cut, _)| *cut > 0)
    }
}

impl Fence {
    fn advance(&mut self, code: &str) {
        if let Some(language) = languages::find(&self.info) {
            for line in code.lines() {
                scanner::scan(language, line, &mut self.state);
            }
        }
    }
}

/// A line that surely starts a list item; `1.` may be any item, because Markdown counts by itself.
fn starts_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        1..=9 if &line[..digits] != "1" => line[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    rest.and_then(|rest| rest.strip_prefix(' '))
        .is_some_and(|text| text.starts_with(|c: char| c != '-' && !c.is_whitespace()))
}

fn fence_of(line: &str) -> Option<Fence> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    let info = line[count..].trim();
    let opens = count >= 3 && !info.contains('`');
    opens.then(|| Fence {
        mark: mark.to_string().repeat(count),
        info: info.to_owned(),
        state: State::default(),
    })
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub pieces: Vec<Piece>,
}

impl Live {
    pub fn runs_command(&self) -> bool {
        let runs = |piece: &Piece| matches!(piece, Piece::Tool(view) if &*view.tool == "Bash" && view.outcome.is_none());
        self.pieces.iter().any(runs)
    }

    pub fn text_delta(&mut self, delta: &str) {
        match self.open_answer() {
            Some(answer) => answer.open.push_str(delta),
            None => {
                let open = delta.trim_start_matches('\n').to_owned();
                if !open.is_empty() {
                    self.pieces.push(Piece::Answer(StreamingReply { open, ..StreamingReply::default() }));
                }
            }
        }
    }

    pub fn reasoning_delta(&mut self, delta: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Reasoning { text, done: false }) => text.push_str(delta),
            _ => self.pieces.push(Piece::Reasoning { text: delta.to_owned(), done: false }),
        }
    }

    /// Completes the answer with its full text, unless a part is already in the scrollback.
    pub fn finish_answer(&mut self, whole: &str) {
        if self.open_answer().is_none() {
            self.pieces.push(Piece::Answer(StreamingReply::default()));
        }
        let Some(answer) = self.open_answer() else { return };
        if answer.passed == 0 {
            whole.trim_start_matches('\n').clone_into(&mut answer.open);
        }
        answer.done = true;
    }

    pub fn finish_reasoning(&mut self, whole: &str) {
        let open = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Reasoning { text, done } if !*done => Some((text, done)),
            _ => None,
        });
        match open {
            Some((text, done)) => {
                whole.clone_into(text);
                *done = true;
            }
            None if whole.trim().is_empty() => {}
            // It wasn't streamed; it goes before a streamed answer that is still open.
            None => {
                let at = self.pieces.len() - usize::from(self.open_answer().is_some());
                self.pieces.insert(at, Piece::Reasoning { text: whole.to_owned(), done: true });
            }
        }
    }

    pub fn tool_started(&mut self, call_id: Arc<str>, tool: Arc<str>, title: String) {
        self.pieces.push(Piece::Tool(ToolView { call_id, tool, title, ..ToolView::default() }));
    }

    pub fn tool_progress(&mut self, call_id: &str, tail: String) {
        if let Some(view) = self.tool(call_id) {
            view.tail = tail;
        }
    }

    /// Finishes a call; one that never started (refused, bad arguments) is added now.
    pub fn tool_done(&mut self, result: &ToolResult) {
        match self.tool(&result.call_id) {
            Some(view) => {
                let before = std::mem::take(view);
                *view = ToolView::of_result(result, before.title);
                // What an interrupted command had printed stays on the screen.
                let outcome =
                    view.outcome.iter_mut().filter(|outcome| outcome.failed && &*result.tool == "Bash");
                outcome.for_each(|outcome| outcome.tail.clone_from(&before.tail));
            }
            None => self.pieces.push(Piece::Tool(ToolView::of_result(result, result.tool.to_string()))),
        }
    }

    /// Drops an aborted answer; returns how many parts of it are already in the scrollback.
    pub fn void(&mut self) -> usize {
        let mut shown = 0;
        self.pieces.retain(|piece| match piece {
            Piece::Answer(answer) => {
                shown += if answer.done { 0 } else { answer.parts };
                answer.done
            }
            Piece::Reasoning { done, .. } => *done,
            Piece::Tool(_) => true,
        });
        shown
    }

    pub fn take_finished(&mut self) -> Vec<TranscriptEntry> {
        let mut entries = Vec::new();
        while let Some(first) = self.pieces.first_mut() {
            match first {
                Piece::Answer(answer) => {
                    while let Some(entry) = answer.take_finished() {
                        entries.push(entry);
                    }
                    if !answer.done {
                        break;
                    }
                    if !answer.open.trim().is_empty() {
                        entries.push(answer.entry(&answer.open));
                    }
                }
                Piece::Reasoning { text, done } => {
                    if !*done {
                        break;
                    }
                    entries.push(TranscriptEntry::Reasoning(std::mem::take(text)));
                }
                Piece::Tool(view) => {
                    if view.outcome.is_none() {
                        break;
                    }
                    entries.push(TranscriptEntry::Tool(view.clone()));
                }
            }
            self.pieces.remove(0);
        }
        entries
    }

    /// At the end of a turn; calls without a result count as interrupted.
    pub fn take_all(&mut self) -> Vec<TranscriptEntry> {
        for piece in &mut self.pieces {
            match piece {
                Piece::Answer(answer) => answer.done = true,
                Piece::Reasoning { done, .. } => *done = true,
                Piece::Tool(view) => {
                    view.outcome.get_or_insert_with(|| tool::OutcomeLine {
                        failed: true,
                        summary: "interrupted".to_owned(),
                        tail: std::mem::take(&mut view.tail),
                        ..tool::OutcomeLine::default()
                    });
                }
            }
        }
        self.take_finished()
    }

    fn open_answer(&mut self) -> Option<&mut StreamingReply> {
        match self.pieces.last_mut() {
            Some(Piece::Answer(answer)) if !answer.done => Some(answer),
            _ => None,
        }
    }

    pub fn tool(&mut self, call_id: &str) -> Option<&mut ToolView> {
        self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Tool(view) if view.call_id.as_ref() == call_id && view.outcome.is_none() => Some(view),
            _ => None,
        })
    }
}

impl Piece {
    pub fn entry(&self) -> Option<TranscriptEntry> {
        match self {
            Self::Answer(answer) if answer.open.trim().is_empty() => None,
            Self::Answer(answer) => Some(answer.entry(&answer.open)),
            Self::Reasoning { text, .. } => Some(TranscriptEntry::Reasoning(text.clone())),
            Self::Tool(view) => Some(TranscriptEntry::Tool(view.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::render::theme::Theme;
    use base::model::envelope::Envelope;

    fn answers(entries: &[TranscriptEntry]) -> Vec<String> {
        entries
            .iter()
            .filter_map(|entry| match entry {
                TranscriptEntry::Answer { markdown, .. } => Some(markdown.clone()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn finished_paragraphs() {
        let mut live = Live::default();
        live.text_delta("one\n\ntwo");
        assert_eq!(answers(&live.take_finished()), ["one\n\n"]);
        live.text_delta(" more\n\n```rust\nlet a;\n\nlet b;\n");
        assert_eq!(answers(&live.take_finished()), ["two more\n\n"]);
        live.text_delta("```\n\nend");
        assert_eq!(answers(&live.take_finished()), ["```rust\nlet a;\n\nlet b;\n```\n\n"]);
        live.finish_answer("unused, as parts have left");
        assert_eq!(answers(&live.take_finished()), ["end"]);
        assert!(live.pieces.is_empty());
    }

    #[test]
    fn reasoning_that_was_not_streamed() {
        for (thought, pieces) in [("", 1), ("hm", 2)] {
            let mut live = Live::default();
            live.text_delta("Done.");
            live.finish_reasoning(thought);
            live.finish_answer("Done.");
            assert_eq!(live.pieces.len(), pieces);
            assert_eq!(answers(&live.take_finished()), ["Done."]);
        }
    }

    #[test]
    fn long_code_block_in_parts() {
        let mut live = Live::default();
        live.text_delta("```rust\n/*\n");
        for _ in 0..400 {
            live.text_delta("let x = 1; // a line\n");
        }
        let parts = answers(&live.take_finished());
        assert!(!parts.is_empty());
        live.text_delta("*/ let last = 2;\n```\n");
        live.finish_answer("");
        let rest = live.take_finished();
        let goes_on = rest.last().is_some_and(|entry| match entry {
            TranscriptEntry::Answer { markdown, code, .. } => {
                markdown.starts_with("```rust\n") && *code == Some(State::Comment(1))
            }
            _ => false,
        });
        assert!(goes_on, "within the comment that the first part opened: {rest:?}");
        // Only the first part names the language.
        let shown = rest.last().map(|entry| entry.lines(None, 60, Theme::new(false))).unwrap_or_default();
        assert!(shown.first().is_some_and(|line| line.to_string() != "  rust"), "{shown:?}");
    }

    #[test]
    fn calls_leave_in_order() {
        let mut live = Live::default();
        live.tool_started("a".into(), "Read".into(), "Read a".to_owned());
        live.tool_started("b".into(), "Read".into(), "Read b".to_owned());
        let done = |id: &str| ToolResult::new(id, "Read", Envelope::success("").with_body("content", "x"));
        live.tool_done(&done("b"));
        assert!(live.take_finished().is_empty());
        live.tool_done(&done("a"));
        assert_eq!(live.take_finished().len(), 2);
    }

    #[test]
    fn void_answer() {
        let mut live = Live::default();
        live.text_delta("half an ans");
        assert_eq!(live.void(), 0);
        assert!(live.pieces.is_empty());
    }
}
