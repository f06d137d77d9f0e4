//! Skill definitions (`SKILL.md`, one folder each): the user's own, and a project's, which need the user's
//! trust in their exact contents. Folders: those of the agentskills.io client guide plus those in the documentation
//! of Claude Code, opencode, Gemini CLI, Cursor, Copilot and Codex (checked 2026-11-29); a project's are searched up to the repository root, like Codex and opencode do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{file, path, repository};

#[rustfmt::skip]
const FOLDERS: [&str; 8] = [
    ".mycode/skills", ".claude/skills", ".agents/skills", ".opencode/skills", ".gemini/skills", ".cursor/skills",
    ".github/skills", ".codex/skills",
];
const AT_HOME: [&str; 2] = [".claude/skills", ".agents/skills"];
const NAMES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Longer texts aren't meant for a model.
const MAX_BYTES: u64 = 256 * 1024;
const MAX_FILES: usize = 200;
const MAX_FOLDERS: usize = 1_000;
const MAX_DEPTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    pub path: PathBuf,
    pub text: String,
    pub by_user: bool,
    /// The plugin's name, which becomes the prefix of the skill's.
    pub plugin: Option<String>,
}

pub fn of_plugin(folder: &Path, name: &str) -> Vec<SkillFile> {
    let mut found = Found { by_user: true, ..Found::default() };
    found.walk(folder, MAX_DEPTH);
    found.files.iter_mut().for_each(|file| file.plugin = Some(name.to_owned()));
    found.files
}

pub fn of_user(config: &Path) -> Vec<SkillFile> {
    let mut found = Found { by_user: true, ..Found::default() };
    found.walk(&config.join("skills"), MAX_DEPTH);
    for folder in at_home() {
        found.walk(&folder, MAX_DEPTH);
    }
    found.files
}

/// Nearest first; excludes files that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<SkillFile> {
    let root = repository::root(workspace).unwrap_or(workspace);
    let at_home: Vec<PathBuf> = at_home().collect();
    let mut found = Found::default();
    for folder in workspace.ancestors().take_while(|folder| folder.starts_with(root)) {
        for skills in FOLDERS.map(|name| folder.join(name)) {
            // The home folder may be a repository.
            if !at_home.contains(&skills) {
                found.walk(&skills, MAX_DEPTH);
            }
        }
    }
    found.files.retain(|file| path::follow(&file.path).starts_with(root));
    found.files
}

fn at_home() -> impl Iterator<Item = PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    home.into_iter().flat_map(|home| AT_HOME.map(|name| home.join(name)))
}

#[derive(Default)]
struct Found {
    files: Vec<SkillFile>,
    /// Resolved folders, because the same one may be linked from several places.
    seen: BTreeSet<PathBuf>,
    by_user: bool,
}

impl Found {
    fn walk(&mut self, folder: &Path, depth: usize) {
        let full = self.files.len() >= MAX_FILES || self.seen.len() >= MAX_FOLDERS;
        if full || !self.seen.insert(path::follow(folder)) {
            return;
        }
        let paths = NAMES.map(|name| folder.join(name));
        if let Some(path) = paths.into_iter().find(|path| path.symlink_metadata().is_ok()) {
            let text = file::small_text(&path, MAX_BYTES).unwrap_or_default();
            self.files.push(SkillFile { path, text, by_user: self.by_user, plugin: None });
            return;
        }
        let hidden = |path: &Path| path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] == b'.');
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| !hidden(path) && path.is_dir()).collect();
        folders.retain(|path| depth > 0 && !path.ends_with("node_modules"));
        folders.sort();
        for folder in folders {
            self.walk(&folder, depth - 1);
        }
    }
}
