//! Finds companions of files known to be part of a change: files that change with them, share their words or
//! names, test or name them, or list their neighbors. The task's words count too.
//!
//! Weights: list-wise logistic fit, projects weighted equally, on about 3,300 questions of 58 projects (given
//! one file of a commit and the earlier history, find the others). On held-out projects, the first ten
//! answers contain 54 % of the other files without a title and 67 % with one; co-change counts alone reach
//! 46 %, the title alone 37 %. Own imports, parallel folders and indirect co-changes added almost nothing.
//! (Counted when "names it" still read the imports.)

use std::borrow::Cow;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::names::{ENTRANCES, Names, folder_of, stem_of};
use super::signals::best;
use super::verbatim::text_of;
use super::{fields, links};
use crate::commits::history::CommitHistory;
use crate::commits::similar;
use crate::index::format::Damaged;
use crate::index::segment::Field;
use crate::index::store::Index;
use crate::text::kind::FilePurpose;
use base::path;
use base::search::bm25::rarity;
use base::search::words;

/// Reasons to belong, in the order of [`WEIGHTS`].
#[derive(Clone, Copy)]
enum Bond {
    Often,
    Lately,
    Content,
    Path,
    Test,
    Naming,
    Registry,
    Busy,
    Task,
    TaskRank,
}

const COUNT: usize = WEIGHTS.len();

/// The user-visible word, the weight of the best value, and the minimum value for full weight.
const WEIGHTS: [(&str, f32, f32); 10] = [
    ("changes with it", 1.6, 0.3),
    ("changed with it lately", 1.8, 0.5),
    ("shares its words", 2.0, 1.0),
    ("named like it", 0.5, 1.0),
    ("tests it, or is tested by it", 0.7, 1.0),
    ("names it", 0.35, 1.0),
    ("lists its neighbors", 0.8, 1.0),
    (BUSY, 1.35, 5.0),
    ("fits the task", 2.3, 1.0),
    ("among the best for the task", 2.2, 1.0),
];
/// Not sufficient as the only reason.
pub const BUSY: &str = "changed very often";
/// Minimum score, not counting [`BUSY`].
const LEAST: f32 = 0.2;
const MAX_GIVEN: usize = 8;
/// The rank that gets half of the first rank's share.
const HALF_RANK: f32 = 4.0;
/// Neighbors used to detect a list of them, and how many it must name.
const NEIGHBORS: usize = 12;
const NAMED_NEIGHBORS: usize = 3;
/// A word in more files tells nothing about a module.
const COMMON_FILES: usize = 400;
/// How many of a file's most frequent words are looked up, and how many distinctive ones are used.
const LOOKED_UP_WORDS: usize = 400;
const TELLING_WORDS: usize = 40;

/// A file, its score, and what each bond adds.
pub type Companion = (usize, f32, Vec<(Cow<'static, str>, f32)>);

type Values = [f32; COUNT];

/// The files that the paths name, in full or by a unique ending, and the paths that name none.
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

/// Best first: `limit` sources, half as many tests, documents and examples. `task` has each file's score, or is empty.
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
    let mut order = best(&scores, scores.len());
    let (mut sources, mut beside) = (limit, limit.div_ceil(2));
    order.retain(|file| {
        let is_beside = index.doc(*file).is_some_and(|doc| doc.kind.is_beside());
        let left = if is_beside { &mut beside } else { &mut sources };
        let fits = scores[*file] > 0.0 && *left > 0;
        *left -= usize::from(fits);
        fits
    });
    let parts = |file: usize| {
        let told = (0..COUNT).filter(|bond| bonds[file][*bond] > 0.0);
        let mut told: Vec<(Cow<'static, str>, f32)> =
            told.map(|bond| (WEIGHTS[bond].0.into(), part(file, bond))).collect();
        // The count replaces both reasons.
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
        bonds.naming(file)?;
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

    /// Adds more to each file the fewer there are.
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
        for (changes, file) in similar::changes(history).into_iter().zip(&today) {
            if let Some(file) = file {
                self.add(Bond::Busy, *file as usize, (changes as f32).ln_1p());
            }
        }
        times
    }

    fn content(&mut self, file: usize) -> Result<(), Damaged> {
        let mut counts: FxHashMap<String, f32> = FxHashMap::default();
        words::each(&self.text(file), |term, _| {
            if term.len() > 2 {
                *counts.entry(term.to_owned()).or_default() += 1.0;
            }
        });
        let mut counts: Vec<(String, f32)> = counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(LOOKED_UP_WORDS);
        let lengths: Vec<f32> = self.index.files().map(|(_, doc)| doc.words() as f32).collect();
        let mean = (lengths.iter().sum::<f32>() / lengths.len() as f32).max(1.0);
        let mut telling: Vec<(f32, Vec<(usize, u32)>)> = Vec::new();
        for (term, count) in counts {
            let holders = self.index.files_with(Field::Body, &term)?;
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

    fn path(&mut self, file: usize) -> Result<(), Damaged> {
        let mut terms: Vec<String> = Vec::new();
        let path = self.names.paths[file].clone();
        let bare = path.rsplit_once('.').map_or(path.as_str(), |(bare, _)| bare);
        words::each(bare, |term, _| terms.push(term.to_owned()));
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let holders = self.index.files_with(Field::Path, &term)?;
            let value = rarity(holders.len(), self.values.len());
            for (other, _) in holders {
                let parts = self.names.paths[other].split(['/', '_', '-', '.']).count();
                self.add(Bond::Path, other, value / (parts as f32).sqrt());
            }
        }
        Ok(())
    }

    fn tests(&mut self, file: usize) {
        let found: Vec<usize> = if self.is_test(file) {
            let stem = links::tested_name(&self.names.paths[file]);
            let sources = self.names.by_stem.get(stem).into_iter().flatten();
            sources.map(|source| *source as usize).filter(|source| !self.is_test(*source)).collect()
        } else {
            let module = self.module(file);
            let tests = self.index.files().filter(|(_, doc)| doc.kind == FilePurpose::Test);
            let tests = tests.map(|(test, _)| test);
            tests.filter(|test| links::tested_name(&self.names.paths[*test]) == module).collect()
        };
        self.share(Bond::Test, &found);
    }

    /// Files of its language that contain the module's name; mostly callers.
    fn naming(&mut self, file: usize) -> Result<(), Damaged> {
        let Some(language) = self.index.doc(file).map(|doc| doc.language) else { return Ok(()) };
        if !language.is_code() {
            return Ok(());
        }
        let mut found = self.holders(self.module(file))?;
        found.retain(|other| {
            *other != file && self.index.doc(*other).is_some_and(|doc| doc.language == language)
        });
        self.share(Bond::Naming, &found);
        Ok(())
    }

    /// Files that name several of its neighbors, such as a list to which a new file probably belongs as well.
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

    /// Files with this name in their text, in order; none if the word is too common.
    fn holders(&self, name: &str) -> Result<Vec<usize>, Damaged> {
        let longest = words::longest_term(name);
        if longest.len() < 2 {
            return Ok(Vec::new());
        }
        let found = self.index.files_with(Field::Body, &longest)?;
        let found = if found.len() > COMMON_FILES { Vec::new() } else { found };
        Ok(found.into_iter().map(|(file, _)| file).collect())
    }
}
