//! Relations between files: the source that a test covers, and past commits.

use rustc_hash::FxHashMap;

use super::names::{Names, folder_of, stem_of};
use super::query::Query;
use super::signals::{Columns, Signal};
use crate::commits::history::CommitHistory;
use crate::commits::similar;

/// A moved file is matched only if at most this many files have its name.
const MAX_NAMESAKES: usize = 4;

pub fn tested_name(path: &str) -> &str {
    let stem = stem_of(path);
    let bare = ["test_", "tests_"].iter().find_map(|mark| stem.strip_prefix(mark)).unwrap_or(stem);
    let bare = ["_test", "_tests", "_spec", "-test", ".test", "test", "tests"]
        .iter()
        .find_map(|mark| bare.strip_suffix(mark))
        .unwrap_or(bare);
    // `tests/queries/tests.py` tests `queries`.
    match bare {
        "test" | "tests" | "" => folder_of(path).rsplit('/').next().unwrap_or(""),
        bare => bare,
    }
}

/// Maps the history's files to today's. A moved file is matched by its name if that is unambiguous.
pub fn today(history: &CommitHistory, names: &Names) -> Vec<Option<u32>> {
    let paths: FxHashMap<&str, u32> =
        names.paths.iter().zip(0..).map(|(path, number)| (path.as_str(), number)).collect();
    history
        .files
        .iter()
        .map(|file| {
            let file = file.to_lowercase();
            paths.get(file.as_str()).copied().or_else(|| {
                // `models.py` may have moved anywhere.
                let name = file.rsplit('/').next().unwrap_or(&file);
                let rare = names.by_name.get(name).map_or(0, Vec::len) <= MAX_NAMESAKES;
                let (found, _) = if rare { names.ending_like(&file) } else { (Vec::new(), 0) };
                (found.len() == 1).then(|| found[0])
            })
        })
        .collect()
}

pub fn past(history: &CommitHistory, today: &[Option<u32>], query: &Query, columns: &mut Columns) {
    if history.commits.is_empty() {
        return;
    }
    for (signal, title_only) in [(Signal::Past, false), (Signal::PastTitle, true)] {
        let words = query.words.iter().filter(|word| word.in_title || !title_only);
        let words: Vec<(&str, f32)> = words.map(|word| (word.term.as_str(), word.weight)).collect();
        let commits = similar::similar(history, &words);
        for (file, value) in similar::changed_by(history, &commits) {
            if let Some(file) = today[file as usize] {
                columns.add(signal, file as usize, value);
            }
        }
    }
}
