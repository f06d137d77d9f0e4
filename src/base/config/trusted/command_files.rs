//! Slash command definitions: from the user's configuration and other agents' folders at home, and from a
//! project, where they need the user's trust in their exact contents. A subfolder is a namespace:
//! `git/fix.md` is `/git:fix`. Folders as in the documentation of Claude Code, Codex, Gemini CLI and opencode, November 2026.

use std::fs;
use std::path::{Path, PathBuf};

use super::agent_files::AgentFile;
use crate::{file, path};

const FOLDERS: [&str; 5] =
    [".mycode/commands", ".claude/commands", ".opencode/command", ".opencode/commands", ".gemini/commands"];
const AT_HOME: [&str; 5] = [
    ".claude/commands",
    ".codex/prompts",
    ".config/opencode/command",
    ".config/opencode/commands",
    ".gemini/commands",
];
const MAX_BYTES: u64 = 64 * 1024;
const MAX_FILES: usize = 100;
const MAX_DEPTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    /// As typed, without the slash.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

pub fn of_user(config: &Path) -> Vec<CommandFile> {
    let at_home = std::env::home_dir().into_iter().flat_map(|home| AT_HOME.map(|name| home.join(name)));
    std::iter::once(config.join("commands")).chain(at_home).flat_map(|folder| in_folder(&folder)).collect()
}

/// Sorted; without files that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<CommandFile> {
    let inside = |file: &CommandFile| path::follow(&file.path).starts_with(workspace);
    FOLDERS.iter().flat_map(|folder| in_folder(&workspace.join(folder))).filter(inside).collect()
}

pub fn definitions(workspace: &Path) -> Vec<AgentFile> {
    of_project(workspace).into_iter().map(|file| AgentFile { path: file.path, text: file.text }).collect()
}

fn in_folder(folder: &Path) -> Vec<CommandFile> {
    let mut paths = Vec::new();
    walk(folder, MAX_DEPTH, &mut paths);
    paths.sort();
    paths.truncate(MAX_FILES);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(folder).ok()?.with_extension("");
        let name = name.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?.join(":");
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        Some(CommandFile { text: file::small_text(&path, MAX_BYTES)?, name, path })
            .filter(|file| file.name.chars().all(plain))
    };
    paths.into_iter().filter_map(read).collect()
}

fn walk(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 && paths.len() < MAX_FILES {
            walk(&path, depth - 1, paths);
        } else if path.extension().is_some_and(|extension| extension == "md" || extension == "toml") {
            paths.push(path);
        }
    }
}
