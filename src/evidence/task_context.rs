//! Gathers a task's context and formats it for the window under a hard limit.

use std::fmt::Write as _;

use super::categorize::{FileCategory, MAX_MODIFY, MAX_REFERENCE};
use super::hints::{self, ContextPacket};
use crate::index::format::Damaged;
use crate::rank::locate::{Project, RankedFile};
use crate::rank::query::Query;
use crate::text::language::FileLanguage;
use base::path::on_one_line;

/// Default limit of the text, in characters.
pub const DEFAULT_MAX_CHARS: usize = 3_000;
const CUT_MARK: &str = "...[truncated]";
/// A guess of the tokens saved by naming a right file. With a task of a few words, files match by chance.
const WORTH_TOKENS: f32 = 300.0;
const VAGUE_WORTH_TOKENS: f32 = 75.0;
const VAGUE_WORDS: usize = 4;
const CHARS_PER_TOKEN: f32 = 4.0;
const AROUND_TOKENS: f32 = 25.0;
const FILES: usize = 6;
/// Files with at least this probability are shown with up to this many matching lines.
const LINES_CHANCE: f32 = 0.35;
const LINES: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct FileNote {
    pub path: String,
    /// Probability that the task changes it, 0–1.
    pub chance: f32,
    pub lines: Vec<(u32, String)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskContext {
    pub modify: Vec<FileNote>,
    pub reference: Vec<FileNote>,
    pub hints: Vec<String>,
}

impl TaskContext {
    pub fn gather(
        project: &Project,
        text: &str,
        hints: &dyn Fn(&[String]) -> Vec<ContextPacket>,
        now_s: u64,
    ) -> Result<Self, Damaged> {
        let query = Query::parse(text);
        let mut context = Self::default();
        for (mut hit, role) in project.rank(&query, MAX_MODIFY + MAX_REFERENCE)? {
            let is_clear = role == FileCategory::Modify && hit.chance >= LINES_CHANCE;
            if is_clear && FileLanguage::of(&hit.path).is_code() {
                project.add_lines(&query, std::iter::once(&mut hit));
                hit.lines.truncate(LINES);
            }
            let list =
                if role == FileCategory::Modify { &mut context.modify } else { &mut context.reference };
            list.push(FileNote::from(hit));
        }
        context.modify.truncate(MAX_MODIFY);
        context.reference.truncate(MAX_REFERENCE);
        // Notes are looked up for all files that may matter.
        let paths: Vec<String> = context.files().map(|file| file.path.clone()).collect();
        let vague = query.words.len() < VAGUE_WORDS;
        context.keep_what_pays(if vague { VAGUE_WORTH_TOKENS } else { WORTH_TOKENS });
        let chosen = hints::select(hints(&paths), now_s);
        context.hints = chosen.into_iter().map(|packet| packet.content).collect();
        Ok(context)
    }

    /// Adds the files of another folder, named by `place`.
    pub fn add(&mut self, other: Self, place: impl Fn(&str) -> String) {
        let lists = [
            (&mut self.modify, other.modify, MAX_MODIFY),
            (&mut self.reference, other.reference, MAX_REFERENCE),
        ];
        for (mine, theirs, most) in lists {
            mine.extend(theirs.into_iter().map(|file| FileNote { path: place(&file.path), ..file }));
            mine.sort_by(|a, b| b.chance.total_cmp(&a.chance));
            mine.truncate(most);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.modify.is_empty() && self.reference.is_empty() && self.hints.is_empty()
    }

    /// The probability that at least one of its files is right, 0–1.
    pub fn quality(&self) -> f32 {
        1.0 - self.files().map(|file| 1.0 - file.chance).product::<f32>()
    }

    fn files(&self) -> impl Iterator<Item = &FileNote> {
        self.modify.iter().chain(&self.reference)
    }

    /// Drops what isn't worth its tokens: single files first, then all of them.
    fn keep_what_pays(&mut self, worth: f32) {
        let mut chances: Vec<f32> = self.files().map(|file| file.chance).collect();
        chances.sort_by(|a, b| b.total_cmp(a));
        let too_low = chances.get(FILES).copied().unwrap_or(0.0);
        for list in [&mut self.modify, &mut self.reference] {
            list.retain(|file| file.chance > too_low && file.chance * worth >= file.tokens());
        }
        let cost: f32 = AROUND_TOKENS + self.files().map(FileNote::tokens).sum::<f32>();
        if self.files().map(|file| file.chance * worth).sum::<f32>() < cost {
            self.modify.clear();
            self.reference.clear();
        }
    }

    /// At most `max_chars` characters: hints, files to change, files to read.
    pub fn serialize(&self, max_chars: usize) -> String {
        let mut text = String::new();
        for hint in &self.hints {
            let _ = writeln!(text, "Note: {hint}");
        }
        for file in &self.modify {
            let _ = writeln!(text, "- {}", on_one_line(&file.path));
            for (number, line) in &file.lines {
                let _ = writeln!(text, "    {number}: {line}");
            }
        }
        if !self.reference.is_empty() {
            text.push_str("Related:\n");
        }
        for file in &self.reference {
            let _ = writeln!(text, "- {}", on_one_line(&file.path));
        }
        capped(text.trim_end(), max_chars)
    }
}

impl FileNote {
    fn tokens(&self) -> f32 {
        let lines: usize = self.lines.iter().map(|(_, line)| line.len() + 10).sum();
        (self.path.len() + 4 + lines) as f32 / CHARS_PER_TOKEN
    }
}

impl From<RankedFile> for FileNote {
    fn from(hit: RankedFile) -> Self {
        Self { path: hit.path, chance: hit.chance, lines: hit.lines }
    }
}

/// Complete lines up to the limit, with a mark if something is missing.
fn capped(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let room = max_chars.saturating_sub(CUT_MARK.len() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let cut = text[..end].rfind('\n').unwrap_or(text.floor_char_boundary(end));
    let mut kept = text[..cut].trim_end().to_owned();
    kept.push('\n');
    kept.push_str(CUT_MARK);
    kept.chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileNote {
        FileNote { path: path.into(), chance: 0.9, lines: vec![(3, "fn x()".into())] }
    }

    #[test]
    fn serialized_order_and_cap() {
        let context = TaskContext {
            modify: (0..10).map(|n| file(&format!("src/change_{n}.rs"))).collect(),
            reference: (0..15).map(|n| file(&format!("src/read_{n}.rs"))).collect(),
            ..TaskContext::default()
        };
        let whole = context.serialize(DEFAULT_MAX_CHARS);
        let at = |part: &str| whole.find(part).unwrap_or(usize::MAX);
        assert!(at("change_9") < at("read_0") && !whole.contains(CUT_MARK));
        for cap in [0, 5, 14, 40, 200, 500] {
            let cut = context.serialize(cap);
            assert!(cut.chars().count() <= cap, "{cap}: {cut}");
            assert!(cap < 20 || cut.ends_with(CUT_MARK), "{cut}");
        }
        assert_eq!(TaskContext::default().serialize(100), "");
    }
}
