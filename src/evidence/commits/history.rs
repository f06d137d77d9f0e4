//! The commits in searchable form: words of messages, and files by number.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::git::LogEntry;
use base::search::words;
use guard::redact::detector::{self, TextSource};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Numbers of the message's words with their counts; the first line counts double.
    pub terms: Vec<(u32, u32)>,
    pub files: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitHistory {
    /// HEAD when this was read; empty without git.
    pub head: String,
    pub terms: Vec<String>,
    pub files: Vec<String>,
    pub commits: Vec<Commit>,
    pub moved: FxHashMap<String, String>,
}

const TRAILERS: &str = "\
    signed-off-by:|co-authored-by:|change-id:|reviewed-by:|acked-by:|cc:|tested-by:|reviewed-on:|git-svn-id:|\
    reported-by:|approved-by:|cherry picked from|(cherry picked from|differential revision:|backport of|\
    release-note";

impl CommitHistory {
    /// From git's log, newest first; continues with `older`.
    pub fn gather(head: &str, log: &[LogEntry], older: Option<&Self>, limit: usize) -> Self {
        let mut history = Self { head: head.to_owned(), ..Self::default() };
        let mut numbers = Numbers::default();
        history.read(&mut numbers, log, limit);
        let Some(older) = older else { return history };
        let mut term = |name| number_of(&mut numbers.terms, &mut history.terms, name);
        let terms: Vec<u32> = older.terms.iter().map(|name| term(name)).collect();
        let mut file = |name| number_of(&mut numbers.files, &mut history.files, name);
        let files: Vec<u32> =
            older.files.iter().map(|name| file(history.moved.get(name).unwrap_or(name))).collect();
        for commit in older.commits.iter().take(limit.saturating_sub(history.commits.len())) {
            let mut commit = commit.clone();
            commit.terms.iter_mut().for_each(|(term, _)| *term = terms[*term as usize]);
            commit.terms.sort_unstable();
            commit.files.iter_mut().for_each(|file| *file = files[*file as usize]);
            history.commits.push(commit);
        }
        for (old, now) in &older.moved {
            let now = history.moved.get(now).unwrap_or(now).clone();
            // A path that was used twice belongs to the newer file.
            history.moved.entry(old.clone()).or_insert(now);
        }
        history
    }

    fn read(&mut self, numbers: &mut Numbers, log: &[LogEntry], limit: usize) {
        for entry in log.iter().take(limit.saturating_sub(self.commits.len())) {
            let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
            let message = detector::blank(&entry.message, TextSource::Text);
            for (number, line) in message.lines().enumerate() {
                let lower = line.trim_start().to_lowercase();
                if TRAILERS.split('|').any(|trailer| lower.starts_with(trailer)) {
                    continue;
                }
                let times = if number == 0 { 2 } else { 1 };
                words::each(line, |term, _| {
                    *counts.entry(number_of(&mut numbers.terms, &mut self.terms, term)).or_default() += times;
                });
            }
            let mut counted: Vec<(u32, u32)> = counts.into_iter().collect();
            counted.sort_unstable();
            counted.shrink_to_fit();
            let mut touched = Vec::new();
            for file in &entry.files {
                let now = self.moved.get(file).unwrap_or(file);
                touched.push(number_of(&mut numbers.files, &mut self.files, now));
            }
            self.commits.push(Commit { terms: counted, files: touched });
            for (old, now) in &entry.moved {
                let now = self.moved.get(now).unwrap_or(now).clone();
                if *old != now {
                    self.moved.insert(old.clone(), now);
                }
            }
        }
    }
}

#[derive(Default)]
struct Numbers {
    terms: FxHashMap<String, u32>,
    files: FxHashMap<String, u32>,
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
