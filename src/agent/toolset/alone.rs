//! The tools without an agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::{servers_of, sources, tool_context};
use super::tools::{ToolParts, dispatcher};
use crate::agent::calls::dispatcher::Dispatcher;
use crate::agent::session::recall::LogOriginals;
use crate::config::load::Loaded;
use crate::evidence::retriever::ContextRetriever;
use crate::policy::flag_rules::FlagRules;
use crate::session::list;
use crate::skill::set::SkillSet;

/// The tools without a session, for `mycode tool`: originals come from the project's last session.
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
    let cx = tool_context(workspace, project_state, own_folders.clone(), retriever, &originals, &skills);
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
