//! The commits as they are searched: words of the messages, files by number. Knows neither git nor disk.

use rustc_hash::FxHashMap;

use super::git::LogEntry;
use crate::evidence::text::words;

/// One commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Seconds since 1970.
    pub time_s: u64,
    /// Numbers of the message's words with how often; those of the first line count double.
    pub terms: Vec<(u32, u32)>,
    /// Numbers of the files.
    pub files: Vec<u32>,
}

/// All commits, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The commit that was checked out when this was read; empty without git.
    pub head: String,
    pub terms: Vec<String>,
    pub files: Vec<String>,
    pub commits: Vec<Commit>,
}

/// Lines of a message that say nothing about the change.
const TRAILERS: &[&str] = &[
    "signed-off-by:",
    "co-authored-by:",
    "change-id:",
    "reviewed-by:",
    "acked-by:",
    "cc:",
    "tested-by:",
    "reviewed-on:",
    "git-svn-id:",
    "reported-by:",
    "approved-by:",
    "cherry picked from",
    "(cherry picked from",
    "differential revision:",
    "backport of",
    "release-note",
];

impl History {
    /// From git's log, newest first; `older` continues it.
    pub fn gather(head: &str, log: &[LogEntry], older: Option<&Self>, limit: usize) -> Self {
        let mut history = Self { head: head.to_owned(), ..Self::default() };
        let mut terms = FxHashMap::default();
        let mut files = FxHashMap::default();
        for entry in log.iter().take(limit) {
            let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
            for (number, line) in entry.message.lines().enumerate() {
                let lower = line.trim_start().to_lowercase();
                if TRAILERS.iter().any(|trailer| lower.starts_with(trailer)) {
                    continue;
                }
                let times = if number == 0 { 2 } else { 1 };
                words::raw(line, |word| {
                    words::terms(word, |term, _| {
                        *counts.entry(number_of(&mut terms, &mut history.terms, term)).or_default() += times;
                    });
                });
            }
            let mut counted: Vec<(u32, u32)> = counts.into_iter().collect();
            counted.sort_unstable();
            let touched = entry.files.iter().map(|file| number_of(&mut files, &mut history.files, file));
            let touched = touched.collect();
            history.commits.push(Commit { time_s: entry.time_s, terms: counted, files: touched });
        }
        for commit in older.into_iter().flat_map(|older| &older.commits) {
            if history.commits.len() >= limit {
                break;
            }
            let Some(older) = older else { break };
            let name =
                |names: &[String], number: &u32| names.get(*number as usize).cloned().unwrap_or_default();
            let mut moved = Commit { time_s: commit.time_s, ..Commit::default() };
            for (term, times) in &commit.terms {
                let term = name(&older.terms, term);
                moved.terms.push((number_of(&mut terms, &mut history.terms, &term), *times));
            }
            moved.terms.sort_unstable();
            for file in &commit.files {
                let file = name(&older.files, file);
                moved.files.push(number_of(&mut files, &mut history.files, &file));
            }
            history.commits.push(moved);
        }
        history
    }
}

fn number_of(numbers: &mut FxHashMap<String, u32>, names: &mut Vec<String>, name: &str) -> u32 {
    if let Some(number) = numbers.get(name) {
        return *number;
    }
    let number = names.len() as u32;
    names.push(name.to_owned());
    numbers.insert(name.to_owned(), number);
    number
}
