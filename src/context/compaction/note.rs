//! The program's note in place of folded steps: what the agent said, changed, read and ran. Facts of the log
//! only, each with its place; nothing that could pass for text of a file. Pure.

use super::thresholds::Thresholds;
use super::working_set;
use crate::compress::lines;
use crate::history::entry::HistoryEntry;
use crate::session::record::FormName;
use crate::tokens::estimate::estimate;
use base::model::envelope::Status;
use base::model::item::{Item, ItemId, LEFT_OUT, ToolResult};
use base::model::observation::{Command, Observation, Search, Touch};
use base::text;

const SAID: &str = "You said:";
const COMMAND_CHARS: usize = 100;
const LINE_CHARS: usize = 120;
/// Characters kept of words that are longer than the whole budget.
const LONG_WORDS_CHARS: usize = 600;

struct TouchedFile<'a> {
    path: &'a str,
    done: Vec<(String, ItemId)>,
    /// Edits that failed, and that no later one made up for.
    failed: Vec<ItemId>,
}

impl TouchedFile<'_> {
    fn line(&self) -> String {
        let runs = self.done.chunk_by(|a, b| a.0 == b.0).map(|run| {
            let ids: Vec<String> = run.iter().map(|(_, id)| id.to_string()).collect();
            format!("{} {}", run[0].0, ids.join(" "))
        });
        let failed = self.failed.last().map(|id| format!("failed {id}"));
        format!("{}: {}", self.path, runs.chain(failed).collect::<Vec<_>>().join(", "))
    }
}

/// The note for `folded` entries, in about `max_tokens`.
pub fn render(folded: &[&HistoryEntry], limits: &Thresholds, max_tokens: u64) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut files: Vec<TouchedFile> = Vec::new();
    let mut ran: Vec<String> = Vec::new();
    for entry in folded {
        match &*entry.item {
            Item::Assistant { text, .. } => words.push(text.trim()),
            Item::Image(image) => ran.push(image.placeholder(LEFT_OUT)),
            Item::ToolResult(result) => match file_of(result) {
                Some((path, verb)) => {
                    let at = files.iter().position(|file| file.path == path).unwrap_or_else(|| {
                        files.push(TouchedFile { path, done: Vec::new(), failed: Vec::new() });
                        files.len() - 1
                    });
                    if result.envelope.status == Status::Error {
                        files[at].failed.push(entry.id);
                    } else {
                        files[at].failed.clear();
                        files[at].done.push((verb, entry.id));
                    }
                }
                None => ran.push(format!("{} {}", entry.id, action(result))),
            },
            _ => {}
        }
    }
    let said = kept_words(&words, limits.words_tokens);
    let files: Vec<String> = files.iter().map(TouchedFile::line).collect();
    let mut sections = [(SAID, said), ("Files:", files), ("Ran:", ran)];
    loop {
        let whole = written(&sections);
        if u64::from(estimate(&whole)) <= max_tokens {
            return whole;
        }
        // The oldest actions go before the oldest words, and the list of files goes last.
        let Some(at) = [2, 0, 1].into_iter().find(|at| sections[*at].1.len() > 1) else { return whole };
        let lines = &mut sections[at].1;
        let less = (lines.len() / 4).max(1);
        lines.drain(..less);
    }
}

fn written(sections: &[(&str, Vec<String>)]) -> String {
    let mut out = String::from("[Steps folded to save room; Recall {\"id\":n} opens #n.");
    for (heading, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        // Words stand as they were said.
        let between = if *heading == SAID { "\n" } else { "\n- " };
        out.push_str(&format!("\n{heading}{between}{}", lines.join(between)));
    }
    out.push(']');
    out
}

/// The newest words whole, as many as fit, in the order in which they were said.
fn kept_words(words: &[&str], max_tokens: u32) -> Vec<String> {
    let mut left = max_tokens;
    let mut kept: Vec<String> = Vec::new();
    for text in words.iter().rev().filter(|text| !text.is_empty()) {
        let size = estimate(text);
        if size <= left {
            kept.push((*text).to_owned());
            left -= size;
        } else {
            if kept.is_empty() {
                kept.push(text::elide(text, LONG_WORDS_CHARS));
            }
            break;
        }
    }
    kept.reverse();
    kept
}

/// The file that a call was about, and what it did there. Searches and commands are told by what they ran.
fn file_of(result: &ToolResult) -> Option<(&str, String)> {
    let data = &result.envelope.data;
    if let Some(view) = data.view() {
        let lines = match (view.start_line, view.end_line) {
            (Some(from), Some(to)) => format!(" {from}-{to}"),
            _ => String::new(),
        };
        return Some((view.path.as_deref()?, format!("read{lines}")));
    }
    let (path, touch) = data.touched()?;
    let verb = match touch {
        Touch::Read => "read",
        Touch::Created => "created",
        Touch::Written => "written",
        Touch::Edited => "edited",
        Touch::Unchanged => "unchanged",
        Touch::Listed | Touch::Searched | Touch::Noted => return None,
    };
    Some((path, verb.to_owned()))
}

/// Any other call: what ran, how it ended, and for a failure the line that tells most.
fn action(result: &ToolResult) -> String {
    let envelope = &result.envelope;
    let failed = match (envelope.data.exit_code().filter(|code| *code != 0), envelope.status) {
        (Some(code), _) => format!(" → exit {code}"),
        (None, Status::Error) => " → failed".to_owned(),
        _ => String::new(),
    };
    let subject = match &*envelope.data.observation {
        Observation::Command(Command { command: Some(command), .. }) => {
            format!("`{}`", text::one_line(command, COMMAND_CHARS))
        }
        Observation::Search(Search { pattern: Some(pattern), path, .. }) => {
            let place = path.as_deref().map(|path| format!(" in {path}")).unwrap_or_default();
            format!("{} {}{place}", result.tool, text::one_line(pattern, COMMAND_CHARS))
        }
        _ => match envelope.data.subject() {
            Some(subject) => format!("{} {}", result.tool, text::one_line(subject, COMMAND_CHARS)),
            None => result.tool.to_string(),
        },
    };
    let line = if failed.is_empty() { None } else { telling_line(&envelope.body) };
    let line = line.map(|line| format!(": {}", text::one_line(line, LINE_CHARS))).unwrap_or_default();
    format!("{subject}{failed}{line}")
}

fn telling_line(body: &str) -> Option<&str> {
    let lines = || body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().rfind(|line| lines::is_error(line)).or_else(|| lines().next_back())
}

/// The note with the files that can still be seen in the `kept` entries.
pub fn with_views<'a>(note: &str, kept: impl Iterator<Item = &'a HistoryEntry>) -> String {
    let views = in_view(kept);
    match note.strip_suffix(']').filter(|_| !views.is_empty()) {
        Some(open) => format!("{open}\nStill in view:\n- {}]", views.join("\n- ")),
        None => note.to_owned(),
    }
}

/// Lines about the files whose newest view stays: path, lines, and whether it was changed since.
fn in_view<'a>(kept: impl Iterator<Item = &'a HistoryEntry>) -> Vec<String> {
    let mut files: Vec<(&str, String, bool)> = Vec::new();
    for entry in kept {
        if let Some(path) =
            working_set::viewed_path(&entry.item).filter(|_| entry.form() <= FormName::Filtered)
        {
            let lines = match working_set::range(&entry.item) {
                (1, u64::MAX) => String::new(),
                (from, u64::MAX) => format!(" from {from}"),
                (from, to) => format!(" {from}-{to}"),
            };
            files.retain(|(known, seen, _)| *known != path || *seen != lines);
            files.push((path, lines, false));
        } else if let Some((path, _)) = working_set::changed_path(&entry.item) {
            files.iter_mut().filter(|file| file.0 == path).for_each(|file| file.2 = true);
        }
    }
    let lines = files.iter().map(|(path, lines, changed)| {
        format!("{path}{lines}{}", if *changed { " (as it was before later edits)" } else { "" })
    });
    lines.collect()
}
