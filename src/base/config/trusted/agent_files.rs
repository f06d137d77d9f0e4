//! Sub-agent definitions: from the user's configuration and Claude Code's folder at home, and from a project,
//! where they need the user's trust in their exact contents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::file;
use crate::path;

const FOLDERS: [&str; 2] = [".mycode/agents", ".claude/agents"];
const MAX_BYTES: u64 = 64 * 1024;
const MAX_FILES: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    pub path: PathBuf,
    pub text: String,
}

pub fn of_user(config: &Path) -> Vec<AgentFile> {
    let home = std::env::home_dir().map(|home| home.join(".claude/agents"));
    [Some(config.join("agents")), home].iter().flatten().flat_map(|folder| in_folder(folder)).collect()
}

/// Sorted; without files that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let inside = |file: &AgentFile| path::follow(&file.path).starts_with(workspace);
    FOLDERS.iter().flat_map(|folder| in_folder(&workspace.join(folder))).filter(inside).collect()
}

fn in_folder(folder: &Path) -> Vec<AgentFile> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.truncate(MAX_FILES);
    let read = |path: PathBuf| Some(AgentFile { text: file::small_text(&path, MAX_BYTES)?, path });
    paths.into_iter().filter_map(read).collect()
}

/// Everything that trust is bound to: names and texts.
pub fn contents<'a>(files: impl Iterator<Item = &'a AgentFile>, workspace: &Path) -> String {
    let shown = |file: &AgentFile| path::display(workspace, &file.path);
    files.map(|file| format!("{}\0{}\0", shown(file), file.text)).collect()
}

pub fn names<'a>(files: impl Iterator<Item = &'a AgentFile>, workspace: &Path) -> String {
    let names: Vec<String> = files.map(|file| path::display(workspace, &file.path)).collect();
    names.join(", ")
}
