//! What a project defines for the agent, such as sub-agents and slash commands: it decides what the model is told and what
//! runs, so it counts once the user trusts all of it exactly as it is. A new kind is one row of `KINDS` and what
//! [`OwnFiles`] holds of it.

use std::path::{Path, PathBuf};

use super::agent_files::{self, AgentFile};
use super::command_files::{self, CommandFile};
use super::hook_files;
use super::mcp_files;
use super::skill_files::{self, SkillFile};
use super::trust::Trust;
use crate::config::language_servers;
use crate::text::and_list;

/// The files of a kind that a project has.
type OfProject = fn(&Path) -> Vec<AgentFile>;

/// The kinds, as users call them, and where a project has its files.
const KINDS: [(&str, OfProject); 6] = [
    ("sub-agents", agent_files::of_project),
    ("commands", command_files::definitions),
    ("skills", skill_files::definitions),
    ("hooks", hook_files::of_project),
    ("language servers", language_servers::of_project),
    ("MCP servers", mcp_files::of_project),
];

/// The files that count: the user's, and the project's if they are trusted.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    pub agents: Vec<AgentFile>,
    pub commands: Vec<CommandFile>,
    pub skills: Vec<SkillFile>,
    pub hooks: Vec<AgentFile>,
    /// Language servers that the project brings along.
    pub programs: Vec<PathBuf>,
    /// MCP servers: of two with a name the later is meant.
    pub mcp: Vec<AgentFile>,
}

/// Reads them, with what the user should know of files that are not trusted.
pub fn load(config: &Path, workspace: &Path, state: &Path, trust: bool) -> (OwnFiles, Option<String>) {
    let mut own = OwnFiles {
        agents: agent_files::of_user(config),
        commands: command_files::of_user(config),
        skills: skill_files::of_user(config),
        hooks: hook_files::of_user(config),
        programs: Vec::new(),
        mcp: mcp_files::of_user(config),
    };
    let project = Definitions::of(workspace);
    if project.is_empty() {
        return (own, None);
    }
    if trust || Trust::of_agents(state).holds(&project.contents(workspace)) {
        own.agents.extend(agent_files::of_project(workspace));
        // Of two with a name the project's is meant.
        own.commands.splice(..0, command_files::of_project(workspace));
        own.skills.splice(..0, skill_files::of_project(workspace));
        own.hooks.extend(hook_files::of_project(workspace));
        own.programs.extend(language_servers::of_project(workspace).into_iter().map(|file| file.path));
        own.mcp.extend(mcp_files::of_project(workspace));
        return (own, None);
    }
    let notice = format!(
        "This project defines {} ({}). Ignored, because they are not trusted as they are now; `mycode trust` trusts them.",
        project.kinds(),
        project.names(workspace)
    );
    (own, Some(notice))
}

/// All that a project defines, by kind.
pub struct Definitions(Vec<(&'static str, Vec<AgentFile>)>);

impl Definitions {
    /// As they are now.
    pub fn of(workspace: &Path) -> Self {
        let read = |(kind, read): (&'static str, OfProject)| (kind, read(workspace));
        Self(KINDS.into_iter().map(read).filter(|(_, files)| !files.is_empty()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What they are, for users.
    pub fn kinds(&self) -> String {
        and_list(&self.0.iter().map(|(kind, _)| *kind).collect::<Vec<_>>())
    }

    /// Their paths in the project, for users.
    pub fn names(&self, workspace: &Path) -> String {
        agent_files::names(self.files(), workspace)
    }

    /// All that trust is bound to.
    pub fn contents(&self, workspace: &Path) -> String {
        agent_files::contents(self.files(), workspace)
    }

    fn files(&self) -> impl Iterator<Item = &AgentFile> {
        self.0.iter().flat_map(|(_, files)| files)
    }
}
