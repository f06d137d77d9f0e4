//! Finds the log that an argument names.

use std::path::{Path, PathBuf};

use super::open;
use crate::cli::report::Failure;
use base::config::paths::Paths;
use context::session::list;
use context::session::log;

/// `wanted` is a file, or a session of the project in `folder` (its id or the beginning of it).
pub fn log_of(folder: Option<&Path>, wanted: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(file) = wanted.map(Path::new).filter(|path| path.is_file()) {
        return Ok(file.to_owned());
    }
    let project_state = Paths::from_env().project(&open::workspace(folder)?);
    let Some(id) = wanted else { return open::last(&project_state) };
    match list::find(&project_state, id) {
        Ok(log) => Ok(log),
        // A sub-agent's session is as good as any other.
        Err(message) => {
            list::find(&log::agents_of(&project_state), id).map_err(|_| open::no_session(message))
        }
    }
}
