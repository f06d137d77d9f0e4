//! Which log an argument names.

use std::path::{Path, PathBuf};

use super::open::{self, Which};
use crate::cli::report::Failure;
use crate::config::paths::Paths;
use crate::session::list;
use crate::session::log;

/// The log that `wanted` names: a file, or a session of the project in `folder` (its id or the beginning of it).
///
/// # Errors
/// When there is no such session.
pub fn log_of(folder: Option<&Path>, wanted: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(file) = wanted.map(Path::new).filter(|path| path.is_file()) {
        return Ok(file.to_owned());
    }
    let project_state = Paths::from_env().project(&open::workspace(folder)?);
    // A sub-agent's session can be looked at like any other.
    if let Some(agent) = wanted.and_then(|id| list::find(&log::agents_of(&project_state), id).ok()) {
        return Ok(agent);
    }
    let which = wanted.map_or(Which::Last, |id| Which::Id(id.to_owned()));
    open::session(&project_state, &which)?.map_or_else(|| open::last(&project_state), Ok)
}
