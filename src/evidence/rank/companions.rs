//! What belongs to files that are surely part of a change: what changed with them, has their words or their name, tests
//! them, imports them or lists their neighbors. A task's words say little of these files, but what they say counts too.
//!
//! How the weights were chosen: by a list-wise logistic fit, projects counted alike, on some 3,300 questions of 58 projects:
//! one file of a commit given, with its title and without, the others to be found, the past before it known. Change logs of
//! 25 GNU and similar projects that name each change's files (C, Lisp, Tcl, Objective-C, R, shell), the differences between
//! releases of 32 packages (JavaScript, TypeScript, Python, Rust), and our own commits. With whole projects left
//! out of the fit, the first ten answers hold 54 % of the change logs' other files without a title and 67 % with one;
//! counts of common changes alone hold 46 %, the title alone 37 % (55 % where tests count like sources). What a file
//! imports, parallel folders and second-hand co-changes added next to nothing and are not here.

use std::borrow::Cow;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::fields;
use super::links;
use super::names::{ENTRANCES, Names, folder_of, stem_of};
use super::signals::best;
use super::verbatim::text_of;
use crate::commits::history::CommitHistory;
use crate::commits::similar;
use crate::index::format::Damaged;
use crate::index::segment::Field;
use crate::index::store::Index;
use crate::text::kind::FilePurpose;
use crate::text::language::Language;
use crate::text::words::{self, rarity};
use base::path;

/// What makes a file belong, in the order of [`WEIGHTS`].
#[derive(Clone, Copy)]
enum Bond {
    Often,
    Lately,
    Content,
    Path,
    Test,
    Importer,
    Registry,
    Busy,
    Task,
    TaskRank,
}

const COUNT: usize = WEIGHTS.len();

/// The word that users see, how much the best file's value counts, and a value that counts whole even when no file has more.
const WEIGHTS: [(&str, f32, f32); 10] = [
    ("changes with it", 1.6, 0.3),
    ("changed with it lately", 1.8, 0.5),
    ("shares its words", 2.0, 1.0),
    ("named like it", 0.5, 1.0),
    ("tests it, or is tested by it", 0.7, 1.0),
    ("imports it", 0.35, 1.0),
    ("lists its neighbors", 0.8, 1.0),
    (BUSY, 1.35, 5.0),
    ("fits the task", 2.3, 1.0),
    ("among the best for the task", 2.2, 1.0),
];
/// No reason by itself.
pub const BUSY: &str = "changed very often";
/// Files with less than this besides being busy don't belong.
const LEAST: f32 = 0.2;
/// Files whose companions are looked for.
const MAX_GIVEN: usize = 8;
/// The rank at which a file gets half of the first one's share.
const HALF_RANK: f32 = 4.0;
/// Files that are read to see whether they import what is given.
const READ_FILES: usize = 120;
/// Neighbors by which a list of them is known, and how many of them it must name.
const NEIGHBORS: usize = 12;
const NAMED_NEIGHBORS: usize = 3;
/// A word in more files than this says nothing of a module.
const COMMON_FILES: usize = 400;
/// A file's words that are looked up, the most frequent first, and those of them that tell it from others.
const LOOKED_UP_WORDS: usize = 400;
const TELLING_WORDS: usize = 40;

/// A file, its score, and what each bond adds.
pub type Companion = (usize, f32, Vec<(Cow<'static, str>, f32)>);

/// What a file has of each bond.
type Values = [f32; COUNT];

/// The files that the paths name, as they are or so much of their end that only one file has it, and the paths that name
/// none.
pub fn known(root: &Path, index: &Index, paths: &[String]) -> (Vec<usize>, Vec<String>) {
    let names = Names::new(index);
    let (mut given, mut unknown) = (Vec::new(), Vec::new());
    for path in paths {
        let relative = path::display(root, &path::normalize(&root.join(path)));
        let exact = index.files().find(|(_, doc)| doc.path == relative.as_bytes()).map(|(file, _)| file);
        match exact.or_else(|| names.named(&relative)) {
            Some(file) if !given.contains(&file) => given.push(file),
            Some(_) => {}
            None if !unknown.contains(path) => unknown.push(path.clone()),
            None => {}
        }
    }
    (given, unknown)
}

/// The companions of `given`, best first. `task` says what each file has of the task; empty without one.
pub fn companions(
    root: &Path,
    index: &Index,
    history: &CommitHistory,
    given: &[usize],
    task: &[f32],
    limit: usize,
) -> Result<Vec<Companion>, Damaged> {
    let (bonds, times) =
        gather(root, index, &Names::new(index), history, &given[..given.len().min(MAX_GIVEN)], task)?;
    let strongest: Vec<f32> = (0..COUNT)
        .map(|bond| bonds.iter().map(|values| values[bond]).fold(WEIGHTS[bond].2, f32::max))
        .collect();
    let part = |file: usize, bond: usize| WEIGHTS[bond].1 * bonds[file][bond] / strongest[bond];
    let scores: Vec<f32> = index
        .files()
        .map(|(file, doc)| {
            let score: f32 = (0..COUNT).map(|bond| part(file, bond)).sum();
            let belongs = score - part(file, Bond::Busy as usize) >= LEAST;
            let answers = belongs && doc.kind != FilePurpose::Foreign && !given.contains(&file);
            if answers { score } else { 0.0 }
        })
        .collect();
    let mut order = best(&scores, limit);
    order.retain(|file| scores[*file] > 0.0);
    let parts = |file: usize| {
        let told = (0..COUNT).filter(|bond| bonds[file][*bond] > 0.0);
        let mut told: Vec<(Cow<'static, str>, f32)> =
            told.map(|bond| (WEIGHTS[bond].0.into(), part(file, bond))).collect();
        // How often says both.
        if let Some(times) = times.get(&(file as u32)) {
            let past = [Bond::Often, Bond::Lately].map(|bond| part(file, bond as usize)).iter().sum();
            told.retain(|(word, _)| {
                ![Bond::Often, Bond::Lately].iter().any(|bond| *word == WEIGHTS[*bond as usize].0)
            });
            let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            told.insert(0, (format!("changed with it {often}").into(), past));
        }
        told
    };
    Ok(order.into_iter().map(|file| (file, scores[file], parts(file))).collect())
}

/// Each file's bonds, and how often it changed with the given ones.
fn gather(
    root: &Path,
    index: &Index,
    names: &Names,
    history: &CommitHistory,
    given: &[usize],
    task: &[f32],
) -> Result<(Vec<Values>, FxHashMap<u32, u32>), Damaged> {
    let values = vec![[0.0; COUNT]; index.files().len()];
    let mut bonds = Bonds { root, index, names, values };
    let times = bonds.past(history, given);
    for &file in given {
        bonds.content(file)?;
        bonds.path(file)?;
        bonds.tests(file);
        bonds.importers(file)?;
        bonds.registries(file)?;
    }
    for (rank, file) in best(task, task.len()).into_iter().enumerate() {
        bonds.add(Bond::Task, file, task[file].max(0.0));
        bonds.add(Bond::TaskRank, file, HALF_RANK / (HALF_RANK + rank as f32));
    }
    Ok((bonds.values, times))
}

struct Bonds<'a> {
    root: &'a Path,
    index: &'a Index,
    names: &'a Names,
    values: Vec<Values>,
}

impl Bonds<'_> {
    fn add(&mut self, bond: Bond, file: usize, value: f32) {
        self.values[file][bond as usize] += value;
    }

    /// Adds the more, the fewer the files are.
    fn share(&mut self, bond: Bond, files: &[usize]) {
        let each = 1.0 / (files.len() as f32).sqrt();
        files.iter().for_each(|file| self.add(bond, *file, each));
    }

    fn text(&self, file: usize) -> String {
        self.index.doc(file).map_or_else(String::new, |doc| text_of(self.root, &doc.path))
    }

    fn is_test(&self, file: usize) -> bool {
        self.index.doc(file).is_some_and(|doc| doc.kind == FilePurpose::Test)
    }

    /// The name by which others know the file.
    fn module(&self, file: usize) -> &str {
        let path = &self.names.paths[file];
        let stem = stem_of(path);
        if ENTRANCES.contains(&stem) { stem_of(folder_of(path)) } else { stem }
    }

    fn past(&mut self, history: &CommitHistory, given: &[usize]) -> FxHashMap<u32, u32> {
        let today = links::today(history, self.names);
        let seeds: Vec<bool> =
            today.iter().map(|file| file.is_some_and(|file| given.contains(&(file as usize)))).collect();
        let mut times: FxHashMap<u32, u32> = FxHashMap::default();
        for (old, with) in similar::changed_with(history, &seeds) {
            let Some(file) = today[old as usize] else { continue };
            self.add(Bond::Often, file as usize, with.often);
            self.add(Bond::Lately, file as usize, with.lately);
            *times.entry(file).or_default() += with.times;
        }
        for ((changes, _), file) in similar::activity(history).into_iter().zip(&today) {
            if let Some(file) = file {
                self.add(Bond::Busy, *file as usize, (changes as f32).ln_1p());
            }
        }
        times
    }

    /// Files with the words that tell this one from others.
    fn content(&mut self, file: usize) -> Result<(), Damaged> {
        let mut counts: FxHashMap<String, f32> = FxHashMap::default();
        words::raw(&self.text(file), |word| {
            words::terms(word, |term, _| {
                if term.len() > 2 {
                    *counts.entry(term.to_owned()).or_default() += 1.0;
                }
            });
        });
        let mut counts: Vec<(String, f32)> = counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(LOOKED_UP_WORDS);
        let lengths: Vec<f32> = self.index.files().map(|(_, doc)| doc.words() as f32).collect();
        let mean = (lengths.iter().sum::<f32>() / lengths.len() as f32).max(1.0);
        let mut telling: Vec<(f32, Vec<(usize, u32)>)> = Vec::new();
        for (term, count) in counts {
            let holders = self.files_with(Field::Body, &term)?;
            if (2..=(lengths.len() / 4).max(8)).contains(&holders.len()) {
                let weight = count / (count + 2.0) * rarity(holders.len(), lengths.len());
                telling.push((weight, holders));
            }
        }
        telling.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (weight, holders) in telling.into_iter().take(TELLING_WORDS) {
            for (other, times) in holders {
                let value = weight * fields::in_text(times, lengths[other] / mean);
                self.add(Bond::Content, other, value);
            }
        }
        Ok(())
    }

    /// Files with the words of its path.
    fn path(&mut self, file: usize) -> Result<(), Damaged> {
        let mut terms: Vec<String> = Vec::new();
        let path = self.names.paths[file].clone();
        let bare = path.rsplit_once('.').map_or(path.as_str(), |(bare, _)| bare);
        words::raw(bare, |word| words::terms(word, |term, _| terms.push(term.to_owned())));
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let holders = self.files_with(Field::Path, &term)?;
            let value = rarity(holders.len(), self.values.len());
            for (other, _) in holders {
                let parts = self.names.paths[other].split(['/', '_', '-', '.']).count();
                self.add(Bond::Path, other, value / (parts as f32).sqrt());
            }
        }
        Ok(())
    }

    /// Tests by their names, and what a test is named after.
    fn tests(&mut self, file: usize) {
        let found: Vec<usize> = if self.is_test(file) {
            let sources = self.names.with_stem(links::tested_name(&self.names.paths[file])).iter();
            sources.map(|source| *source as usize).filter(|source| !self.is_test(*source)).collect()
        } else {
            let module = self.module(file);
            let tests = self.index.files().filter(|(_, doc)| doc.kind == FilePurpose::Test);
            let tests = tests.map(|(test, _)| test);
            tests.filter(|test| links::tested_name(&self.names.paths[*test]) == module).collect()
        };
        self.share(Bond::Test, &found);
    }

    /// Files with the module's name in them, if they really import it.
    fn importers(&mut self, file: usize) -> Result<(), Damaged> {
        let Some(language) = self.index.doc(file).map(|doc| doc.language) else { return Ok(()) };
        if matches!(language, Language::Code | Language::Prose | Language::Data) {
            return Ok(());
        }
        let mut found = self.holders(self.module(file))?;
        found.retain(|other| {
            *other != file && self.index.doc(*other).is_some_and(|doc| doc.language == language)
        });
        found.truncate(READ_FILES);
        found.retain(|other| {
            links::targets(self.names, language, *other, &self.text(*other)).contains(&(file as u32))
        });
        self.share(Bond::Importer, &found);
        Ok(())
    }

    /// Files that name several neighbors of the file: a list of them, in which a new one belongs too.
    fn registries(&mut self, file: usize) -> Result<(), Damaged> {
        let path = &self.names.paths[file];
        let ending = path.rsplit('.').next().unwrap_or("");
        let neighbors = self.names.in_folder(folder_of(path)).iter().map(|other| *other as usize);
        let neighbors =
            neighbors.filter(|other| *other != file && self.names.paths[*other].ends_with(ending));
        let neighbors: Vec<usize> = neighbors.take(NEIGHBORS).collect();
        let mut named: FxHashMap<usize, usize> = FxHashMap::default();
        for neighbor in &neighbors {
            let holders = self.holders(stem_of(&self.names.paths[*neighbor]))?;
            holders.into_iter().for_each(|holder| *named.entry(holder).or_default() += 1);
        }
        let least = NAMED_NEIGHBORS.max(neighbors.len() / 2);
        named.retain(|holder, count| *holder != file && *count >= least);
        let each = 1.0 / (named.len() as f32).sqrt();
        for (holder, count) in named {
            self.add(Bond::Registry, holder, each * count as f32 / neighbors.len() as f32);
        }
        Ok(())
    }

    /// Files with this name in their text, in their order; none where it is too common a word.
    fn holders(&self, name: &str) -> Result<Vec<usize>, Damaged> {
        let longest = words::longest_term(name);
        if longest.len() < 2 {
            return Ok(Vec::new());
        }
        let found = self.files_with(Field::Body, &longest)?;
        let found = if found.len() > COMMON_FILES { Vec::new() } else { found };
        Ok(found.into_iter().map(|(file, _)| file).collect())
    }

    /// Files that have a word, with how often, in their order.
    fn files_with(&self, field: Field, term: &str) -> Result<Vec<(usize, u32)>, Damaged> {
        let owners = self.index.owners();
        let mut found: Vec<(usize, u32)> = Vec::new();
        self.index.occurrences(field, term, |number, times| {
            let file = if field == Field::Body { owners[number as usize] } else { number };
            found.push((file as usize, times));
        })?;
        found.sort_unstable();
        found.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Ok(found)
    }
}
