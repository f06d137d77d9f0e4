//! What the user and the project define for the agent (sub-agents, slash commands…). The project's need the user's trust in
//! their exact contents. A new kind is one field of [`OwnFiles`] with its readers.

use std::path::{Path, PathBuf};

use super::agent_files::{self, AgentFile, CommandFile};
use super::json_files;
use super::skill_files::{self, SkillFile};
use super::trust::Definition;
use crate::config::language_servers;
use crate::path;

#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    pub agents: Vec<AgentFile>,
    /// The first one of each name wins.
    pub commands: Vec<CommandFile>,
    pub skills: Vec<SkillFile>,
    pub hooks: Vec<AgentFile>,
    /// Language servers shipped with the project.
    pub programs: Vec<AgentFile>,
    /// Language servers that plugins define.
    pub servers: Vec<AgentFile>,
    /// MCP servers; the last one of each name wins.
    pub mcp: Vec<AgentFile>,
    /// What Claude Code's project settings allow.
    pub permissions: Vec<AgentFile>,
    /// Plugin folders, whose files tools and commands may read.
    pub plugins: Vec<PathBuf>,
}

impl OwnFiles {
    pub fn of_user(config: &Path) -> Self {
        Self {
            agents: agent_files::agents_of_user(config),
            commands: agent_files::commands_of_user(config),
            skills: skill_files::of_user(config),
            hooks: json_files::hooks_of_user(config),
            mcp: json_files::read(config.join("mcp_servers.json")).into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn of_project(workspace: &Path) -> Self {
        Self {
            agents: agent_files::agents_of_project(workspace),
            commands: agent_files::commands_of_project(workspace),
            skills: skill_files::of_project(workspace),
            hooks: json_files::hooks_of_project(workspace),
            programs: language_servers::of_project(workspace),
            mcp: json_files::mcp_of_project(workspace),
            permissions: json_files::permissions_of_project(workspace),
            ..Self::default()
        }
    }

    /// The project's commands and skills take precedence over others with the same name.
    pub fn with(mut self, project: Self) -> Self {
        self.agents.extend(project.agents);
        self.commands.splice(..0, project.commands);
        self.skills.splice(..0, project.skills);
        self.hooks.extend(project.hooks);
        self.mcp.extend(project.mcp);
        Self { programs: project.programs, permissions: project.permissions, ..self }
    }

    pub fn program_paths(&self) -> Vec<PathBuf> {
        self.programs.iter().map(|file| file.path.clone()).collect()
    }

    /// Adds the definitions of the plugin in `root`; the user's own take precedence.
    pub fn add_plugin(&mut self, files: Self, root: PathBuf) {
        self.agents.extend(files.agents);
        self.commands.extend(files.commands);
        self.skills.extend(files.skills);
        self.hooks.extend(files.hooks);
        self.servers.extend(files.servers);
        self.mcp.splice(..0, files.mcp);
        self.plugins.push(root);
    }

    pub fn definitions(&self, workspace: &Path) -> Vec<Definition> {
        let mut all = Vec::new();
        self.clone().retain(workspace, |one| {
            all.push(one.clone());
            true
        });
        all
    }

    pub fn retain(&mut self, workspace: &Path, mut keep: impl FnMut(&Definition) -> bool) {
        let mut holds = |kind, path: &Path, text: &str| {
            keep(&Definition { kind, name: path::display(workspace, path), text: text.to_owned() })
        };
        self.agents.retain(|file| holds("sub-agents", &file.path, &file.text));
        self.commands.retain(|file| holds("commands", &file.path, &file.text));
        self.skills.retain(|file| holds("skills", &file.path, &file.text));
        self.hooks.retain(|file| holds("hooks", &file.path, &file.text));
        self.programs.retain(|file| holds("language servers", &file.path, &file.text));
        self.servers.retain(|file| holds("language servers", &file.path, &file.text));
        self.mcp.retain(|file| holds("MCP servers", &file.path, &file.text));
        self.permissions.retain(|file| holds("permission rules", &file.path, &file.text));
    }
}
