//! The stored sessions of all projects.

use std::fs;
use std::path::{Path, PathBuf};

use super::list;
use base::protocol::event::SessionRow;

/// All sessions, newest first; `projects` is the folder with the projects' state.
pub fn list(projects: &Path) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> =
        folders(projects).iter().flat_map(|project| list::list(project)).collect();
    rows.sort_by(|a, b| b.updated_ms.cmp(&a.updated_ms).then_with(|| b.id.cmp(&a.id)));
    rows
}

pub fn of_session(projects: &Path, id: &str) -> Option<PathBuf> {
    folders(projects).into_iter().find(|project| has(project, id))
}

pub fn has(project_state: &Path, id: &str) -> bool {
    list::find(project_state, id).is_ok_and(|path| path.file_stem().is_some_and(|stem| stem == id))
}

fn folders(projects: &Path) -> Vec<PathBuf> {
    fs::read_dir(projects).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
