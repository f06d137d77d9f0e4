//! Relations between files: imports, shared folders, tests of a source, and common commits.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::names::{Names, folder_of, stem_of};
use super::query::Query;
use super::signals::{Columns, Signal, best};
use super::verbatim::text_of;
use crate::commits::history::CommitHistory;
use crate::commits::similar;
use crate::index::store::Index;
use crate::text::language::Language;
use crate::text::symbols;

const SEEDS: usize = 25;
/// A file changed within this many newest commits is recent.
const RECENT_COMMITS: f32 = 400.0;

/// A moved file is only matched if at most this many files have its name.
const MAX_NAMESAKES: usize = 4;

pub fn seeds(scores: &[f32]) -> Vec<(u32, f32)> {
    let order = best(scores, SEEDS);
    let top = order.first().map_or(1.0, |file| scores[*file]);
    let shares = order.into_iter().map(|file| (file as u32, scores[file] / top));
    shares.filter(|(_, share)| top > 0.0 && *share > 0.0).collect()
}

pub fn imports(root: &Path, index: &Index, names: &Names, seeds: &[(u32, f32)], columns: &mut Columns) {
    for &(file, weight) in seeds {
        let Some(doc) = index.doc(file as usize) else { continue };
        let targets = targets(names, doc.language, file as usize, &text_of(root, &doc.path));
        let share = weight / (targets.len() as f32 + 1.0).ln().max(1.0);
        for target in targets {
            columns.add(Signal::Imports, target as usize, share);
        }
    }
}

pub fn targets(names: &Names, language: Language, file: usize, text: &str) -> Vec<u32> {
    let mut targets: Vec<u32> = symbols::imports(language, text)
        .iter()
        .flat_map(|import| target(names, language, &names.paths[file], import))
        .filter(|target| *target as usize != file)
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// The files an import resolves to; none if it is external or too ambiguous.
fn target(names: &Names, language: Language, from: &str, import: &str) -> Vec<u32> {
    let import = import.trim();
    let path_of = |file: u32| names.paths[file as usize].as_str();
    let beside = |stem: &str, folder: &str| -> Vec<u32> {
        let files = names.with_stem(stem).iter().copied();
        files.filter(|file| folder_of(path_of(*file)) == folder).collect()
    };
    let found = match language {
        Language::Python => {
            let dots = import.len() - import.trim_start_matches('.').len();
            let mut folder = folder_of(from);
            for _ in 1..dots {
                folder = folder_of(folder);
            }
            let mut parts: Vec<String> = if dots > 0 {
                folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
            } else {
                Vec::new()
            };
            parts.extend(import.split('.').filter(|part| !part.is_empty()).map(str::to_owned));
            let (files, used) = names.module(&parts);
            if used >= 2 || parts.len() == 1 { files } else { Vec::new() }
        }
        Language::Rust | Language::Java => {
            let parts: Vec<String> = import
                .split(['.', ':'])
                .filter(|part| !["", "crate", "self", "super"].contains(part))
                .map(str::to_owned)
                .collect();
            names.module(&parts).0
        }
        Language::Go => {
            let parts: Vec<&str> = import.split('/').collect();
            (0..parts.len())
                .map(|start| names.in_folder(&parts[start..].join("/").to_lowercase()))
                .find(|files| !files.is_empty())
                .map(<[u32]>::to_vec)
                .unwrap_or_default()
        }
        Language::Script if import.starts_with('.') => {
            let path = joined(folder_of(from), &import.to_lowercase());
            let stem = stem_of(path.rsplit('/').next().unwrap_or(&path));
            let index =
                names.in_folder(&path).iter().copied().filter(|file| stem_of(path_of(*file)) == "index");
            beside(stem, folder_of(&path)).into_iter().chain(index).collect()
        }
        Language::C => {
            let (files, _) = names.ending_like(import);
            let stem = stem_of(import).to_lowercase();
            // The source file next to a header implements it.
            let sources = files.iter().flat_map(|file| beside(&stem, folder_of(path_of(*file))));
            files.iter().copied().chain(sources).collect()
        }
        _ => Vec::new(),
    };
    if found.len() > 12 { Vec::new() } else { found }
}

/// `a/b` and `../c` is `a/c`.
fn joined(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name of what a test covers, from the test's path.
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
                let rare = names.namesakes(name) <= MAX_NAMESAKES;
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
    for (number, (changes, last)) in similar::activity(history).into_iter().enumerate() {
        let Some(file) = today[number] else { continue };
        if changes > 0 {
            columns.raise(Signal::Recent, file as usize, (-(last as f32) / RECENT_COMMITS).exp());
            columns.add(Signal::Busy, file as usize, changes as f32);
        }
    }
    columns.of_mut(Signal::Busy).iter_mut().for_each(|changes| *changes = changes.ln_1p());
}

pub fn together(history: &CommitHistory, today: &[Option<u32>], seeds: &[(u32, f32)], columns: &mut Columns) {
    let weights: FxHashMap<u32, f32> = seeds.iter().copied().collect();
    let mut old: FxHashMap<u32, f32> = FxHashMap::default();
    for (number, file) in today.iter().enumerate() {
        if let Some(weight) = file.and_then(|file| weights.get(&file)) {
            old.insert(number as u32, *weight);
        }
    }
    for (file, value) in similar::together(history, &old) {
        if let Some(file) = today[file as usize] {
            columns.add(Signal::Together, file as usize, value);
        }
    }
}
