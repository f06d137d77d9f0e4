//! The tools without an agent and a session, for `mycode tool` and clients of `mycode mcp serve`.

use crate::cli::args::ModelArgs;
use crate::cli::report::Failure;
use crate::cli::setup::limits;
use crate::cli::setup::open::OpenedProject;
use agent::calls::dispatcher::Dispatcher;
use agent::toolset::context::ToolSetup;
use agent::toolset::tools::toolset;
use context::session::list;

/// Recall's originals come from the project's last session.
pub fn of(opened: &OpenedProject, model: &ModelArgs) -> Result<Dispatcher, Failure> {
    let (dispatcher, parts) = toolset(ToolSetup {
        loaded: &opened.loaded,
        workspace: &opened.workspace,
        project_state: &opened.project_state,
        own_folders: &opened.own_folders(),
        flags: limits::rules(model, &opened.loaded)?,
        interactive: false,
        small_window: false,
        host: None,
    });
    if let Some(path) = list::last(&opened.project_state) {
        parts.originals.follow(path);
    }
    Ok(dispatcher)
}
