//! What a task is about, gathered: services, files to change and to read, habits of those files, hints (SPEC §7);
//! and its text for the window, under a hard cap.

use std::fmt::Write as _;

use super::categorize::{MAX_MODIFY, MAX_REFERENCE, Role};
use super::hints::{self, HintSource};
use super::keywords::{self, Keyword};
use super::patterns;
use super::services::ProjectIndex;
use crate::base::text::floor_boundary;
use crate::evidence::index::format::Damaged;
use crate::evidence::rank::locate::{Project, RankedFile};
use crate::evidence::rank::query::Query;

/// The hard cap of the text, in characters, where nothing else is said.
pub const DEFAULT_MAX_CHARS: usize = 3_000;
const CUT_MARK: &str = "...[truncated]";
/// Under this quality a context is not worth its tokens.
pub const WORTH_SHOWING: f64 = 0.35;
/// A best file with this score is surely right.
const SURE_SCORE: f32 = 4.0;

/// A file of the context.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNote {
    pub path: String,
    pub score: f32,
    pub reasons: Vec<String>,
    /// (number from 1, line).
    pub lines: Vec<(u32, String)>,
}

/// What a task is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskContext {
    pub services: Vec<String>,
    pub keywords: Vec<Keyword>,
    pub modify: Vec<FileNote>,
    pub reference: Vec<FileNote>,
    pub patterns: Vec<String>,
    pub hints: Vec<String>,
    /// Sources that failed, in a sentence each.
    pub notices: Vec<String>,
}

impl TaskContext {
    /// Gathers everything for a task. `now_s` is the time in seconds since 1970.
    ///
    /// # Errors
    /// [`Damaged`], when the index must be rebuilt.
    pub fn gather(
        project: &Project,
        text: &str,
        sources: &[&dyn HintSource],
        now_s: u64,
    ) -> Result<Self, Damaged> {
        let query = Query::parse(text);
        let keywords = keywords::extract(&query);
        let mut context = Self::default();
        for (hit, role) in project.locate(text, MAX_MODIFY + MAX_REFERENCE)? {
            let list = if role == Role::Modify { &mut context.modify } else { &mut context.reference };
            list.push(FileNote::from(hit));
        }
        context.modify.truncate(MAX_MODIFY);
        context.reference.truncate(MAX_REFERENCE);
        let services = ProjectIndex::current(&project.index, project.folder());
        context.services = services
            .matching(&keywords)
            .into_iter()
            .map(|service| if service.path.is_empty() { &service.name } else { &service.path }.clone())
            .collect();
        let texts: Vec<String> = context.modify.iter().map(|file| project.text(&file.path)).collect();
        context.patterns = patterns::discover(&texts);
        let paths: Vec<String> =
            context.modify.iter().chain(&context.reference).map(|file| file.path.clone()).collect();
        let mut packets = Vec::new();
        for source in sources {
            match source.hints(&keywords, &paths) {
                Ok(found) => packets.extend(found),
                Err(problem) => context.notices.push(format!("{}: {problem}", source.name())),
            }
        }
        context.hints = hints::select(packets, now_s).into_iter().map(|packet| packet.content).collect();
        context.keywords = keywords;
        Ok(context)
    }

    /// Whether it says anything about the project.
    pub fn is_empty(&self) -> bool {
        self.modify.is_empty() && self.reference.is_empty() && self.hints.is_empty()
    }

    /// How good it is, before it costs anything: from 0 (useless) to 1.
    pub fn quality(&self) -> f64 {
        let Some(best) = self.modify.first() else { return 0.0 };
        let sure = f64::from((best.score / SURE_SCORE).clamp(0.0, 1.0));
        // A clear winner is worth more than ten equals.
        let second = self.modify.get(1).map_or(0.0, |file| file.score);
        let clear = f64::from((1.0 - second / best.score.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0));
        let strong = self.keywords.iter().filter(|keyword| keyword.strong).count().min(3) as f64 / 3.0;
        let enough = self.keywords.len().min(4) as f64 / 4.0;
        let around = if self.reference.is_empty() { 0.0 } else { 1.0 };
        (0.45 * sure + 0.1 * clear + 0.2 * strong + 0.2 * enough + 0.05 * around).clamp(0.0, 1.0)
    }

    /// The text, at most `max_chars` characters: what is known from before, files to change, files to read, habits.
    pub fn serialize(&self, max_chars: usize) -> String {
        let mut text = String::new();
        for hint in &self.hints {
            let _ = writeln!(text, "Note: {hint}");
        }
        if !self.modify.is_empty() {
            text.push_str("Likely to change:\n");
        }
        for (place, file) in self.modify.iter().enumerate() {
            let _ = writeln!(text, "- {} ({})", file.path, file.reasons.join(", "));
            // The first files are the likeliest; lines of the others would only crowd them out.
            let shown = if place < 3 { 3 } else { usize::from(place < 6) };
            for (number, line) in file.lines.iter().take(shown) {
                let _ = writeln!(text, "    {number}: {line}");
            }
        }
        if !self.reference.is_empty() {
            text.push_str("To read:\n");
        }
        for file in &self.reference {
            let _ = writeln!(text, "- {}", file.path);
        }
        if !self.services.is_empty() {
            let _ = writeln!(text, "Parts of the project: {}", self.services.join(", "));
        }
        if !self.patterns.is_empty() {
            let _ = writeln!(text, "Patterns there: {}", self.patterns.join("; "));
        }
        capped(text.trim_end(), max_chars)
    }
}

impl From<RankedFile> for FileNote {
    fn from(hit: RankedFile) -> Self {
        let reasons = hit.reasons().into_iter().take(2).map(str::to_owned).collect();
        Self { path: hit.path, score: hit.score, reasons, lines: hit.lines }
    }
}

/// Whole lines up to the cap, with a mark when something is missing.
fn capped(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let room = max_chars.saturating_sub(CUT_MARK.len() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let cut = text[..end].rfind('\n').unwrap_or(floor_boundary(text, end));
    let mut kept = text[..cut].trim_end().to_owned();
    kept.push('\n');
    kept.push_str(CUT_MARK);
    kept.chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileNote {
        FileNote {
            path: path.into(),
            score: 1.0,
            reasons: vec!["named".into()],
            lines: vec![(3, "fn x()".into())],
        }
    }

    #[test]
    fn serialized_order_and_cap() {
        let context = TaskContext {
            modify: (0..10).map(|n| file(&format!("src/change_{n}.rs"))).collect(),
            reference: (0..15).map(|n| file(&format!("src/read_{n}.rs"))).collect(),
            patterns: vec!["`@x` in 2 of 3 files".into()],
            ..TaskContext::default()
        };
        let whole = context.serialize(DEFAULT_MAX_CHARS);
        let at = |part: &str| whole.find(part).unwrap_or(usize::MAX);
        assert!(at("change_9") < at("read_0") && at("read_14") < at("`@x`") && !whole.contains(CUT_MARK));
        for cap in [0, 5, 14, 40, 200, 500] {
            let cut = context.serialize(cap);
            assert!(cut.chars().count() <= cap, "{cap}: {cut}");
            assert!(cap < 20 || cut.ends_with(CUT_MARK), "{cut}");
        }
        assert_eq!(TaskContext::default().serialize(100), "");
    }
}
