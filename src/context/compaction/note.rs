//! The program's note in place of folded steps: what the agent said, changed, read and ran. Only facts from the
//! log, each with its item; nothing that could be mistaken for a file's text. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use super::renewed;
use super::thresholds::Thresholds;
use super::working_set;
use crate::compress::lines;
use crate::history::entry::HistoryEntry;
use crate::history::references;
use crate::session::record::FormName;
use crate::tokens::estimate::estimate;
use base::model::call::ToolCall;
use base::model::envelope::Status;
use base::model::facts::Touch;
use base::model::item::{Item, ItemId, LEFT_OUT, ToolResult};
use base::model::observation::{Command, Observation, Search};
use base::pattern::Pattern;
use base::text;
use serde_json::Value;

static DEFINITION: Pattern = Pattern::new(include_str!("definition.regex"));
const MOST_NAMES: usize = 8;
/// What looks like a function with a body.
const BRANCHES: [&str; 6] = ["if", "for", "while", "switch", "catch", "match"];

const CHANGED: &str = " (as it was before later edits)";
const BY_COMMAND: &str = "changed by command";
const RENEWED: &str = " (with your edits)";
/// Begins what the program puts in front of a command's output after a failed edit.
pub const FAILED_EDIT: &str = "Note: the edit to ";
const SAID: &str = "You said:";
const COMMAND_CHARS: usize = 100;
const LINE_CHARS: usize = 120;
/// Characters kept of an answer that exceeds the whole budget.
const LONG_WORDS_CHARS: usize = 600;

#[derive(Default)]
struct TouchedFile {
    path: String,
    done: Vec<(String, ItemId)>,
    /// Failed edits that no later edit made up for.
    failed: Vec<ItemId>,
    /// Lines that edits added and removed, and the names that added lines define.
    lines: (usize, usize),
    defined: Vec<String>,
}

impl TouchedFile {
    fn line(&self) -> String {
        let runs = self.done.chunk_by(|a, b| a.0 == b.0).map(|run| {
            let ids: Vec<String> = run.iter().map(|(_, id)| id.to_string()).collect();
            format!("{} {}", run[0].0, ids.join(" "))
        });
        let failed = self.failed.last().map(|id| format!("failed {id}"));
        let lines = match self.lines {
            (0, 0) => String::new(),
            (plus, minus) => {
                let between = if self.defined.is_empty() { "" } else { ": " };
                format!(" (+{plus} −{minus} lines{between}{})", self.defined.join(", "))
            }
        };
        format!("{}: {}{lines}", self.path, runs.chain(failed).collect::<Vec<_>>().join(", "))
    }

    fn is_only_read(&self) -> bool {
        self.failed.is_empty() && self.done.iter().all(|(verb, _)| verb.starts_with("read"))
    }

    fn add(&mut self, verb: String, id: ItemId, result: &ToolResult) {
        self.failed.clear();
        if verb == BY_COMMAND || result.envelope.data.change().is_some() {
            // Line numbers of earlier reads no longer match the file.
            self.done.retain(|(verb, _)| !verb.starts_with("read"));
        }
        if let Some(change) = result.envelope.data.change() {
            let diff = change.diff.as_deref().unwrap_or_default();
            let count = |sign: char, head: &str| {
                diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
            };
            self.lines.0 += count('+', "+++ ");
            self.lines.1 += count('-', "--- ");
            let names = DEFINITION.captures_iter(diff).filter_map(|found| found.get(1).or(found.get(2)));
            for name in names.filter(|name| !BRANCHES.contains(&name.as_str())) {
                if self.defined.len() < MOST_NAMES && !self.defined.iter().any(|known| known == name.as_str())
                {
                    self.defined.push(name.as_str().to_owned());
                }
            }
        }
        self.done.push((verb, id));
    }
}

pub fn render(folded: &[&HistoryEntry], limits: &Thresholds, max_tokens: u64) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut files: Vec<TouchedFile> = Vec::new();
    let mut ran: Vec<(String, String)> = Vec::new();
    let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
    let mut folder: Option<String> = None;
    for entry in folded {
        match &*entry.item {
            Item::ToolCall(call) => drop(calls.insert(&call.id, call)),
            Item::Assistant { text, .. } => words.push(text.trim()),
            Item::Image(image) => {
                let line = image.placeholder(LEFT_OUT);
                ran.push((line.clone(), line));
            }
            Item::ToolResult(result) => match file_of(result, calls.get(&*result.call_id).copied()) {
                Some((path, verb)) => {
                    let file = file_at(&mut files, &path);
                    if result.envelope.status == Status::Error {
                        file.failed.push(entry.id);
                    } else {
                        file.add(verb, entry.id, result);
                    }
                }
                // The to-do list has its own recap.
                None if matches!(&*result.envelope.data.observation, Observation::Todos(_)) => {}
                None => {
                    let data = &result.envelope.data;
                    for path in data.changed().iter().take(MOST_NAMES) {
                        file_at(&mut files, path).add(BY_COMMAND.to_owned(), entry.id, result);
                    }
                    folder = data.command().and_then(|ran| ran.cwd.clone()).or(folder);
                    let (what, how) = action(result, calls.get(&*result.call_id).copied());
                    ran.retain(|(known, _)| *known != what);
                    let line = format!("{} {what}{how}", entry.id);
                    ran.push((what, line));
                }
            },
            _ => {}
        }
    }
    let said = kept_words(&words, limits.words_tokens);
    let (read, changed): (Vec<&TouchedFile>, Vec<&TouchedFile>) =
        files.iter().partition(|file| file.is_only_read());
    let [read, changed] = [read, changed].map(|files| files.into_iter().map(TouchedFile::line).collect());
    let mut ran: Vec<String> = ran.into_iter().map(|(_, line)| line).collect();
    ran.extend(
        folder
            .filter(|folder| folder != ".")
            .map(|folder| format!("Afterwards the current folder was {folder}")),
    );
    let mut sections = [(SAID, said), ("Files:", changed), ("Files only read:", read), ("Ran:", ran)];
    loop {
        let whole = written(&sections);
        if u64::from(estimate(&whole)) <= max_tokens {
            return whole;
        }
        // Cut the oldest actions first, then files that were only read, then the oldest words, then other files.
        let Some(at) = [3, 2, 0, 1].into_iter().find(|at| sections[*at].1.len() > 1) else { return whole };
        let lines = &mut sections[at].1;
        let less = (lines.len() / 4).max(1);
        lines.drain(..less);
    }
}

fn file_at<'a>(files: &'a mut Vec<TouchedFile>, path: &str) -> &'a mut TouchedFile {
    let at = files.iter().position(|file| file.path == path).unwrap_or_else(|| {
        files.push(TouchedFile { path: path.to_owned(), ..TouchedFile::default() });
        files.len() - 1
    });
    &mut files[at]
}

fn written(sections: &[(&str, Vec<String>)]) -> String {
    let mut out = String::from("[Steps folded to save room; Recall {\"id\":n} opens #n.");
    for (heading, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        // What the agent said is quoted without bullets.
        let between = if *heading == SAID { "\n" } else { "\n- " };
        out.push_str(&format!("\n{heading}{between}{}", lines.join(between)));
    }
    out.push(']');
    out
}

/// The newest words that fit, in their original order; each whole.
fn kept_words(words: &[&str], max_tokens: u32) -> Vec<String> {
    let mut left = max_tokens;
    let mut kept: Vec<String> = Vec::new();
    for text in words.iter().rev().filter(|text| !text.is_empty()) {
        let Some(rest) = left.checked_sub(estimate(text)) else {
            if kept.is_empty() {
                kept.push(text::elide(text, LONG_WORDS_CHARS));
            }
            break;
        };
        left = rest;
        kept.push((*text).to_owned());
    }
    kept.reverse();
    kept
}

/// The file that a call was about, and what it did there. `None` for searches and commands.
fn file_of(result: &ToolResult, call: Option<&ToolCall>) -> Option<(String, String)> {
    let data = &result.envelope.data;
    if let Some(view) = data.view() {
        let lines = view.start_line.zip(view.end_line).map(|(from, to)| format!(" {from}-{to}"));
        return Some((view.path.clone()?, format!("read{}", lines.unwrap_or_default())));
    }
    let Some((path, touch)) = data.touched() else {
        return Some((working_set::failed_edit(result, call?)?, String::new()));
    };
    let is_told = !matches!(touch, Touch::Listed | Touch::Searched | Touch::Noted);
    is_told.then(|| (path.to_owned(), touch.into_str().to_owned()))
}

/// Any other call: what ran and how it ended, with the most telling line for a failure or a check.
fn action(result: &ToolResult, call: Option<&ToolCall>) -> (String, String) {
    let envelope = &result.envelope;
    let failed = match (envelope.data.exit_code().filter(|code| *code != 0), envelope.status) {
        (Some(code), _) => format!(" → exit {code}"),
        (None, Status::Error) => " → failed".to_owned(),
        _ => String::new(),
    };
    let subject = match &*envelope.data.observation {
        Observation::Command(Command { command: Some(command), .. }) => {
            format!("`{}`", text::one_line(&without_scripts(command), COMMAND_CHARS))
        }
        Observation::Search(Search { pattern: Some(pattern), path, .. }) => {
            let place = path.as_deref().map(|path| format!(" in {path}")).unwrap_or_default();
            format!("{} {}{place}", result.tool, text::one_line(pattern, COMMAND_CHARS))
        }
        _ => {
            let subject =
                envelope.data.subject().map(str::to_owned).or_else(|| values(call?)).unwrap_or_default();
            // A tool called through a lookup has the lookup's name in its result.
            let tool = call.map_or(&*result.tool, |call| &*call.name);
            format!("{tool} {}", text::one_line(&subject, COMMAND_CHARS)).trim_end().to_owned()
        }
    };
    if let Observation::Search(Search { total_matches: Some(matches), .. }) = &*envelope.data.observation {
        return (
            subject,
            format!(" → {}", text::plural(usize::try_from(*matches).unwrap_or(usize::MAX), "match")),
        );
    }
    let is_check =
        matches!(&*envelope.data.observation, Observation::Command(Command { check: Some(_), .. }));
    let line =
        if failed.is_empty() && !is_check { None } else { telling_line(&envelope.body, !failed.is_empty()) };
    let between = if failed.is_empty() { " → " } else { ": " };
    let line = line.map(|line| format!("{between}{}", text::one_line(line, LINE_CHARS))).unwrap_or_default();
    (subject, format!("{failed}{line}"))
}

/// The argument values, such as the address of a page or the number of an issue.
fn values(call: &ToolCall) -> Option<String> {
    let args = call.parsed_args().ok()?;
    let values = args.as_object()?.values().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    Some(values.collect::<Vec<_>>().join(" "))
}

/// The command without the texts of its heredocs: what ran stands around them.
fn without_scripts(command: &str) -> String {
    static HEREDOC: Pattern = Pattern::new(r#"<<-?\s*['"\\]?(\w+)"#);
    let mut ends: VecDeque<String> = VecDeque::new();
    let mut kept: Vec<&str> = Vec::new();
    for line in command.lines() {
        match ends.front() {
            Some(end) if line.trim() == end => drop(ends.pop_front()),
            Some(_) => {}
            None => {
                kept.push(line);
                ends.extend(HEREDOC.captures_iter(line).map(|found| found[1].to_owned()));
            }
        }
    }
    kept.join("\n")
}

/// A command that succeeded may print source code after its result: there only a count or its last line tells.
fn telling_line(body: &str, failed: bool) -> Option<&str> {
    static FRAME: Pattern = Pattern::new(r#"^(\d+: \w|at \S+[:/(]|File ")"#);
    static COUNT: Pattern = Pattern::new(
        r"\b\d+ (?:tests? )?(?:pass|fail)(?:ed|ing)\b|^[#ℹ] (?:pass|fail) \d|^OK\b|^FAILED \(|\bTests run: \d|^(?:ok|FAIL)\s+\S+\s+\S",
    );
    // A line that ends with a colon only introduces the next one.
    let tells = |line: &&str| {
        !line.is_empty() && !line.ends_with(':') && !FRAME.is_match(line) && !line.starts_with(FAILED_EDIT)
    };
    let lines = || body.lines().map(|line| line.trim_matches(['=', ' ', '\t'])).filter(tells);
    lines()
        .rfind(|line| COUNT.is_match(line) || failed && lines::is_error(line))
        .or_else(|| lines().next_back())
}

/// An entry, whether it is kept, and its text, if not as it was sent.
type Seen<'a> = (&'a HistoryEntry, bool, Option<&'a str>);

pub fn views<'a>(entries: impl Iterator<Item = Seen<'a>>) -> Option<String> {
    let mut views: Vec<(&str, &str, (u64, u64))> = Vec::new();
    let mut renewed_before: HashSet<&str> = HashSet::new();
    let mut in_view: HashSet<ItemId> = HashSet::new();
    for (entry, kept, text) in entries {
        // A reference shows nothing once its target is gone.
        let is_seen = kept
            && entry.form() <= FormName::Filtered
            && references::of(entry).all(|id| in_view.contains(&id));
        in_view.extend(is_seen.then_some(entry.id));
        if let Some(path) = working_set::viewed_path(&entry.item).filter(|_| is_seen) {
            let before = renewed::is_renewed(entry).then(|| entry.text()).filter(|_| text.is_none());
            match before {
                Some(_) => drop(renewed_before.insert(path)),
                None => drop(renewed_before.remove(path)),
            }
            let renewed = text.or(Some(entry.text())).and_then(renewed::range);
            let lines = renewed.map_or_else(|| working_set::range(&entry.item), |(lines, _)| lines);
            views.retain(|(known, _, seen)| *known != path || *seen != lines);
            let state = renewed.map_or("", |(_, is_current)| if is_current { RENEWED } else { CHANGED });
            views.push((path, state, lines));
        } else if let Item::ToolResult(result) = &*entry.item {
            let edited = working_set::changed_path(&entry.item).map(|(path, _)| path);
            let by_command = result.envelope.data.changed();
            let is_old = entry.form() >= FormName::Folded;
            let has_it = |view: &(&str, &str, _)| {
                !kept && view.1 == RENEWED && (is_old || !renewed_before.contains(view.0))
            };
            let is_changed = |path: &str| edited == Some(path) || by_command.iter().any(|file| file == path);
            let changed = views.iter_mut().filter(|view| is_changed(view.0) && !has_it(view));
            changed.for_each(|view| view.1 = CHANGED);
        }
    }
    views.sort();
    let of_state = |views: &[(&str, &str, (u64, u64))]| {
        let ranges = joined(views.iter().map(|view| view.2));
        format!("{}{}", ranges.iter().map(shown).collect::<Vec<_>>().join(","), views[0].1)
    };
    let of_file = |views: &[(&str, &str, (u64, u64))]| {
        let states: Vec<String> = views.chunk_by(|one, other| one.1 == other.1).map(of_state).collect();
        format!("\n- {}{}", views[0].0, states.join(";"))
    };
    let lines: String = views.chunk_by(|one, other| one.0 == other.0).map(of_file).collect();
    (!lines.is_empty()).then(|| format!("\nIn view at this point:{lines}"))
}

fn joined(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut().filter(|last| from <= last.1.saturating_add(1)) {
            Some(last) => last.1 = last.1.max(to),
            None => joined.push((from, to)),
        }
    }
    joined
}

fn shown(range: &(u64, u64)) -> String {
    match range {
        (1, u64::MAX) => String::new(),
        (from, u64::MAX) => format!(" from {from}"),
        (from, to) => format!(" {from}-{to}"),
    }
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
