//! The list of stored sessions, derived from the logs at each call: there is no index that could be wrong.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::clock;
use crate::base::file;
use crate::base::text;
use crate::model::item::Item;
use crate::protocol::event::SessionRow;
use crate::session::record::Record;

/// How much of a log is read for its first lines and title, in bytes.
const HEAD_BYTES: u64 = 64 * 1024;

/// The sessions of one project, newest first. Unreadable files are left out.
pub fn list(project_state: &Path) -> Vec<SessionRow> {
    let mut rows: Vec<SessionRow> =
        files(project_state).into_iter().filter_map(|(path, ms)| row(&path, ms)).collect();
    rows.sort_by(|a, b| b.updated_ms.cmp(&a.updated_ms).then_with(|| b.id.cmp(&a.id)));
    rows
}

/// The session that was changed last.
pub fn last(project_state: &Path) -> Option<PathBuf> {
    files(project_state)
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)))
        .map(|(path, _)| path)
}

/// The one session whose id is `wanted` or begins with it.
///
/// # Errors
/// A sentence for the user: none, or several.
pub fn find(project_state: &Path, wanted: &str) -> Result<PathBuf, String> {
    let stem =
        |path: &PathBuf| path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut hits: Vec<PathBuf> = files(project_state).into_iter().map(|(path, _)| path).collect();
    if let Some(exact) = hits.iter().find(|path| stem(path) == wanted) {
        return Ok(exact.clone());
    }
    hits.retain(|path| stem(path).starts_with(wanted) && !wanted.is_empty());
    match hits.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("there is no session '{wanted}' in this project; `mycode sessions` lists them")),
        several => Err(format!(
            "'{wanted}' fits {} sessions ({}); give more of the id",
            several.len(),
            several.iter().take(4).map(stem).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn files(project_state: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(entries) = fs::read_dir(project_state.join("sessions")) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| {
            let ms = fs::metadata(&path).and_then(|meta| meta.modified()).map_or(0, clock::to_ms);
            (path, ms)
        })
        .collect()
}

fn row(path: &Path, updated_ms: u64) -> Option<SessionRow> {
    let mut bytes = Vec::new();
    let mut file = file::open(path).ok()?.0;
    Read::by_ref(&mut file).take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    let mut row = SessionRow {
        id: path.file_stem()?.to_string_lossy().into_owned(),
        title: String::new(),
        turns: 0,
        updated_ms,
        workspace: String::new(),
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Record>(line) {
            Ok(Record::Meta(meta)) => row.workspace = meta.workspace,
            Ok(Record::Item(record)) => {
                if let Item::User(message) = &*record.item {
                    row.title = text::one_line(&message.text, 100);
                    break;
                }
            }
            _ => {}
        }
    }
    file.read_to_end(&mut bytes).ok()?;
    row.turns =
        bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(br#"{"turn_end":"#)).count();
    Some(row)
}
