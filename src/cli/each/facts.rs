//! What the session of a batch's task tells about it.

use std::path::Path;

use serde_json::{Value, json};

use super::child::TaskOutput;
use super::task_dir::TaskDir;
use base::config::paths::Paths;
use context::report::session::{self, SessionReport};
use context::session::log;

fn session_of(folder: &Path, id: &str) -> Option<SessionReport> {
    let state = Paths::from_env().project(&folder.canonicalize().ok()?);
    session::read(&log::path_of(&state, id), 0).ok().flatten()
}

pub fn has_message(folder: &Path, id: &str) -> bool {
    session_of(folder, id).is_some_and(|session| !session.title.is_empty())
}

pub fn facts(output: &TaskOutput, place: &TaskDir) -> Value {
    let session = output.session.as_ref().and_then(|id| session_of(&place.folder, id)).unwrap_or_default();
    let figures = session.figures;
    json!({
        "session": output.session,
        "answer": output.answer,
        "error": output.error,
        "changed": figures.files.keys().collect::<Vec<_>>(),
        "steps": figures.steps,
        "tokens": figures.tokens.total(),
        "cost_usd": figures.cost_usd(),
        "elapsed_ms": figures.active_ms,
        // A worktree is removed, unless its task failed.
        "folder": (place.tree.is_none() || output.exit_code != Some(0)).then_some(&place.folder),
    })
}
