//! Definitions in Markdown files: sub-agents, and slash commands (also in TOML), where a subfolder is a namespace: `git/fix.md`
//! is `/git:fix`. From the user's configuration, other agents' folders in the home, and the project, which needs the
//! user's trust in their exact contents. Folders as in the documentation of Claude Code, Codex, Gemini CLI and opencode,
//! November 2026.

use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::{file, path};

const AGENTS: [&str; 2] = [".mycode/agents", ".claude/agents"];
const COMMANDS: [&str; 5] =
    [".mycode/commands", ".claude/commands", ".opencode/command", ".opencode/commands", ".gemini/commands"];
const COMMANDS_AT_HOME: &str =
    ".claude/commands .codex/prompts .config/opencode/command .config/opencode/commands .gemini/commands";
const MAX_BYTES: u64 = 64 * 1024;
const MAX_FILES: usize = 100;
const MAX_DEPTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    /// As typed, without the slash.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

pub fn agents_of_user(config: &Path) -> Vec<AgentFile> {
    of_user(config.join("agents"), &[".claude/agents"]).iter().flat_map(|folder| agents(folder)).collect()
}

/// Sorted; excludes files that a link brings in from outside.
pub fn agents_of_project(workspace: &Path) -> Vec<AgentFile> {
    let inside = |file: &AgentFile| path::follow(&file.path).starts_with(workspace);
    AGENTS.iter().flat_map(|folder| agents(&workspace.join(folder))).filter(inside).collect()
}

pub fn commands_of_user(config: &Path) -> Vec<CommandFile> {
    let at_home: Vec<&str> = COMMANDS_AT_HOME.split(' ').collect();
    of_user(config.join("commands"), &at_home).iter().flat_map(|folder| commands(folder)).collect()
}

/// Sorted; excludes files that a link brings in from outside.
pub fn commands_of_project(workspace: &Path) -> Vec<CommandFile> {
    let inside = |file: &CommandFile| path::follow(&file.path).starts_with(workspace);
    COMMANDS.iter().flat_map(|folder| commands(&workspace.join(folder))).filter(inside).collect()
}

fn of_user(own: PathBuf, at_home: &[&str]) -> Vec<PathBuf> {
    let at_home =
        std::env::home_dir().into_iter().flat_map(|home| at_home.iter().map(move |name| home.join(name)));
    std::iter::once(own).chain(at_home).collect()
}

pub fn agents(folder: &Path) -> Vec<AgentFile> {
    let read = |path: PathBuf| Some(AgentFile { text: file::small_text(&path, MAX_BYTES)?, path });
    files(folder, 1, &["md"]).into_iter().filter_map(read).collect()
}

pub fn commands(folder: &Path) -> Vec<CommandFile> {
    let base = if folder.is_file() { folder.parent().unwrap_or(folder) } else { folder };
    let read = |path: PathBuf| {
        let name = path.strip_prefix(base).ok()?.with_extension("");
        let name = name.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?.join(":");
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        Some(CommandFile { text: file::small_text(&path, MAX_BYTES)?, name, path })
            .filter(|file| file.name.chars().all(plain))
    };
    files(folder, MAX_DEPTH, &["md", "toml"]).into_iter().filter_map(read).collect()
}

pub fn files(folder: &Path, depth: usize, endings: &[&str]) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).max_depth(depth).sort_by_file_name().into_iter().flatten();
    let paths = entries.filter(|entry| !entry.file_type().is_dir()).map(DirEntry::into_path);
    let is_one =
        |path: &PathBuf| endings.iter().any(|ending| path.extension().is_some_and(|end| end == *ending));
    paths.filter(is_one).take(MAX_FILES).collect()
}
