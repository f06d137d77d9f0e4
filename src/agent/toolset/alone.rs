//! The tools without an agent and a session, for `mycode tool`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::{servers_of, sources, tool_context};
use super::tools::{ToolParts, dispatcher};
use crate::calls::dispatcher::Dispatcher;
use crate::session::recall::LogOriginals;
use base::config::load::Loaded;
use context::session::list;
use evidence::retriever::ContextRetriever;
use guard::policy::flag_rules::FlagRules;
use tools::skill::set::SkillSet;

/// Recall's originals come from the project's last session.
pub fn tools_alone(
    loaded: &Loaded,
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
) -> Dispatcher {
    let originals = Arc::new(LogOriginals::default());
    if let Some(path) = list::last(project_state) {
        originals.follow(path);
    }
    let retriever = ContextRetriever::new(workspace, project_state);
    let skills = Arc::new(SkillSet::read(&loaded.own.skills).0);
    let cx = tool_context(
        workspace,
        project_state,
        own_folders.clone(),
        retriever,
        &originals,
        &skills,
        &loaded.work.folders,
    );
    let sources = sources(&servers_of(&cx, loaded, &own_folders).0);
    let parts = ToolParts {
        loaded,
        project_state,
        own_folders: &own_folders,
        skills: &skills,
        sources: &sources,
        flags: FlagRules::default(),
        interactive: false,
        small_window: false,
    };
    dispatcher(cx, parts)
}
