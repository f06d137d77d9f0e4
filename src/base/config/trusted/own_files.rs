//! What a project defines for the agent (sub-agents, slash commands…): it needs the user's trust in its exact
//! contents. A new kind is one row of `KINDS` and its part of [`OwnFiles`].

use std::path::{Path, PathBuf};

use super::agent_files::{self, AgentFile};
use super::command_files::{self, CommandFile};
use super::hook_files;
use super::mcp_files;
use super::permission_files;
use super::skill_files::{self, SkillFile};
use super::trust::Trust;
use crate::config::language_servers;
use crate::text::and_list;

type OfProject = fn(&Path) -> Vec<AgentFile>;

const KINDS: [(&str, OfProject); 7] = [
    ("sub-agents", agent_files::of_project),
    ("commands", command_files::definitions),
    ("skills", skill_files::definitions),
    ("hooks", hook_files::of_project),
    ("language servers", language_servers::of_project),
    ("MCP servers", mcp_files::of_project),
    ("permission rules", permission_files::of_project),
];

/// The usable files: the user's, and the project's if trusted.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    pub agents: Vec<AgentFile>,
    pub commands: Vec<CommandFile>,
    pub skills: Vec<SkillFile>,
    pub hooks: Vec<AgentFile>,
    /// Language servers shipped by the project.
    pub programs: Vec<PathBuf>,
    /// MCP servers; for equal names the later one wins.
    pub mcp: Vec<AgentFile>,
    /// What Claude Code's project settings allow.
    pub permissions: Vec<AgentFile>,
}

pub fn load(config: &Path, workspace: &Path, state: &Path, trust: bool) -> (OwnFiles, Option<String>) {
    let mut own = OwnFiles {
        agents: agent_files::of_user(config),
        commands: command_files::of_user(config),
        skills: skill_files::of_user(config),
        hooks: hook_files::of_user(config),
        programs: Vec::new(),
        mcp: mcp_files::of_user(config),
        permissions: Vec::new(),
    };
    let project = Definitions::of(workspace);
    if project.is_empty() {
        return (own, None);
    }
    if trust || Trust::of_agents(state).holds(&project.contents(workspace)) {
        own.agents.extend(agent_files::of_project(workspace));
        // For equal names the project's wins.
        own.commands.splice(..0, command_files::of_project(workspace));
        own.skills.splice(..0, skill_files::of_project(workspace));
        own.hooks.extend(hook_files::of_project(workspace));
        own.programs.extend(language_servers::of_project(workspace).into_iter().map(|file| file.path));
        own.mcp.extend(mcp_files::of_project(workspace));
        own.permissions = permission_files::of_project(workspace);
        return (own, None);
    }
    let notice = format!(
        "This project defines {} ({}). Ignored, because they are not trusted as they are now; `mycode trust` trusts them.",
        project.kinds(),
        project.names(workspace)
    );
    (own, Some(notice))
}

pub struct Definitions(Vec<(&'static str, Vec<AgentFile>)>);

impl Definitions {
    pub fn of(workspace: &Path) -> Self {
        let read = |(kind, read): (&'static str, OfProject)| (kind, read(workspace));
        Self(KINDS.into_iter().map(read).filter(|(_, files)| !files.is_empty()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn kinds(&self) -> String {
        and_list(&self.0.iter().map(|(kind, _)| *kind).collect::<Vec<_>>())
    }

    pub fn names(&self, workspace: &Path) -> String {
        agent_files::names(self.files(), workspace)
    }

    pub fn contents(&self, workspace: &Path) -> String {
        agent_files::contents(self.files(), workspace)
    }

    fn files(&self) -> impl Iterator<Item = &AgentFile> {
        self.0.iter().flat_map(|(_, files)| files)
    }
}
