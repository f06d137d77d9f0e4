//! Which rules files of a folder apply, and what is known about one that may be held back.

use std::path::{Path, PathBuf};

use super::rules_file::{self, Reach, RulesFile, RulesNotice};
use super::scoped_rule;
use base::config::trusted::held_back::RulesHashes;

pub struct FolderRules<'a> {
    pub reach: Reach<'a>,
    pub held: &'a RulesHashes,
    pub known: &'a [RulesFile],
    pub notices: Vec<RulesNotice>,
}

impl FolderRules<'_> {
    pub fn of_folder(&mut self, folder: &Path) -> Vec<RulesFile> {
        let first = self.first_of(rules_file::candidates(folder));
        let always = scoped_rule::of_folder(folder).into_iter().filter(|rule| rule.always);
        let always = always.filter(|rule| rule.beside || first.is_none()).map(|rule| rule.path);
        let mut beside: Vec<PathBuf> = always.chain(rules_file::beside(folder)).collect();
        beside.retain(|path| first.as_ref().is_none_or(|first| first.path != *path));
        first.into_iter().chain(beside.iter().filter_map(|path| self.file(path))).collect()
    }

    pub fn first_of(&mut self, candidates: Vec<PathBuf>) -> Option<RulesFile> {
        candidates.into_iter().find_map(|path| self.file(&path))
    }

    /// The file if it may be used. A held-back file keeps its previously known content.
    pub fn file(&mut self, path: &Path) -> Option<RulesFile> {
        let known = self.known.iter().find(|file| file.path == *path).cloned();
        let current = known.clone().filter(RulesFile::is_current);
        let file = current.unwrap_or_else(|| RulesFile::read(path, self.reach, self.held));
        let hash = &file.parts.first()?.hash;
        if self.held.get(path) == Some(hash) {
            self.notices.push(RulesNotice::HeldBack { path: path.to_owned() });
            return known.filter(|known| known.parts.first().is_some_and(|part| part.hash != *hash));
        }
        self.notices.extend(file.notices.iter().cloned());
        let whole_before = known.filter(|known| file.incomplete && !known.incomplete);
        Some(whole_before.unwrap_or(file))
    }
}

/// Folders from the workspace (exclusive) down to `touched`, topmost first; stops at one that git ignores.
pub fn folders_below(workspace: &Path, touched: &Path) -> Vec<PathBuf> {
    let folder = if touched.is_dir() { touched } else { touched.parent().unwrap_or(touched) };
    let below = folder.ancestors().take_while(|folder| folder.starts_with(workspace) && *folder != workspace);
    let mut folders: Vec<PathBuf> = below.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

pub fn always_of(folder: &Path) -> Vec<PathBuf> {
    let rules = scoped_rule::of_folder(folder).into_iter().filter(|rule| rule.always).map(|rule| rule.path);
    rules_file::candidates(folder).into_iter().chain(rules).chain(rules_file::beside(folder)).collect()
}
