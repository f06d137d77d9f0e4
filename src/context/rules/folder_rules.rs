//! Which rules files of a folder count, and what is known of a file that may be held back.

use std::path::{Path, PathBuf};

use super::cursor;
use super::rules_file::{self, Reach, RulesFile, RulesNotice};
use base::config::trusted::held_back::RulesHashes;
use base::search::walk;

/// Chooses and reads rules files.
pub struct FolderRules<'a> {
    pub reach: Reach<'a>,
    /// What is held back.
    pub held: &'a RulesHashes,
    /// As they were read before.
    pub known: &'a [RulesFile],
    /// What the user should know.
    pub notices: Vec<RulesNotice>,
}

impl FolderRules<'_> {
    /// Those that a folder has for all of it.
    pub fn of_folder(&mut self, folder: &Path) -> Vec<RulesFile> {
        if let Some(file) = self.first_of(rules_file::candidates(folder)) {
            return vec![file];
        }
        let always = cursor::of_folder(folder).into_iter().filter(|rule| rule.always);
        always.filter_map(|rule| self.file(&rule.path)).collect()
    }

    /// The first of these that may be used.
    pub fn first_of(&mut self, candidates: Vec<PathBuf>) -> Option<RulesFile> {
        candidates.into_iter().find_map(|path| self.file(&path))
    }

    /// The file as it may be used. Of one that is held back what was known before stays.
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

/// The folders below the workspace on the way to what was touched there, from above; none that git ignores, nor what is below.
pub fn folders_below(workspace: &Path, touched: &Path) -> Vec<PathBuf> {
    let folder = if touched.is_dir() { touched } else { touched.parent().unwrap_or(touched) };
    let below = folder.ancestors().take_while(|folder| folder.starts_with(workspace) && *folder != workspace);
    let mut folders: Vec<PathBuf> = below.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// Whether a folder has files that count for all of it.
pub fn has_any(folder: &Path) -> bool {
    !rules_file::candidates(folder).is_empty() || cursor::of_folder(folder).iter().any(|rule| rule.always)
}

/// Whether git ignores one of these folders, which lie in each other.
pub fn any_ignored(folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| walk::is_ignored(folder))
}
