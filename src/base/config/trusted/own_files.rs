//! What the user and a project define for the agent (sub-agents, slash commands…). A project's needs the user's trust in its
//! exact contents. A new kind is one field of [`OwnFiles`], and its reader for each.

use std::path::{Path, PathBuf};

use super::agent_files::{self, AgentFile, CommandFile};
use super::json_files;
use super::skill_files::{self, SkillFile};
use super::trust::Trust;
use crate::config::language_servers;
use crate::path;
use crate::text::and_list;

#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    pub agents: Vec<AgentFile>,
    /// For equal names the first one wins.
    pub commands: Vec<CommandFile>,
    pub skills: Vec<SkillFile>,
    pub hooks: Vec<AgentFile>,
    /// Language servers shipped by the project.
    pub programs: Vec<AgentFile>,
    /// MCP servers; for equal names the later one wins.
    pub mcp: Vec<AgentFile>,
    /// What Claude Code's project settings allow.
    pub permissions: Vec<AgentFile>,
}

/// The usable files: the user's, and the project's if trusted; else a notice.
pub fn load(config: &Path, workspace: &Path, state: &Path, trust: bool) -> (OwnFiles, Option<String>) {
    let own = OwnFiles::of_user(config);
    let project = OwnFiles::of_project(workspace);
    if project.is_empty() {
        return (own, None);
    }
    if trust || Trust::of_agents(state).holds(&project.contents(workspace)) {
        return (own.with(project), None);
    }
    let notice = format!(
        "This project defines {} ({}). Ignored, because they are not trusted as they are now; `mycode trust` trusts them.",
        project.kinds(),
        project.names(workspace)
    );
    (own, Some(notice))
}

impl OwnFiles {
    fn of_user(config: &Path) -> Self {
        Self {
            agents: agent_files::agents_of_user(config),
            commands: agent_files::commands_of_user(config),
            skills: skill_files::of_user(config),
            hooks: json_files::hooks_of_user(config),
            programs: Vec::new(),
            mcp: json_files::mcp_of_user(config),
            permissions: Vec::new(),
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
        }
    }

    /// For equal names of commands and skills the project's wins.
    fn with(mut self, project: Self) -> Self {
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

    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    pub fn kinds(&self) -> String {
        and_list(&self.all().iter().map(|(kind, _)| *kind).collect::<Vec<_>>())
    }

    pub fn names(&self, workspace: &Path) -> String {
        let all = self.all();
        let paths = all.iter().flat_map(|(_, files)| files).map(|(path, _)| path::display(workspace, path));
        paths.collect::<Vec<_>>().join(", ")
    }

    /// Everything that trust is bound to: names and texts.
    pub fn contents(&self, workspace: &Path) -> String {
        let all = self.all();
        let files = all.iter().flat_map(|(_, files)| files);
        files.map(|(path, text)| format!("{}\0{text}\0", path::display(workspace, path))).collect()
    }

    fn all(&self) -> Vec<(&'static str, Vec<(&Path, &str)>)> {
        let commands = self.commands.iter().map(|file| (&*file.path, &*file.text));
        let skills = self.skills.iter().map(|file| (&*file.path, &*file.text));
        let mut all = vec![
            ("sub-agents", rows(&self.agents)),
            ("commands", commands.collect()),
            ("skills", skills.collect()),
            ("hooks", rows(&self.hooks)),
            ("language servers", rows(&self.programs)),
            ("MCP servers", rows(&self.mcp)),
            ("permission rules", rows(&self.permissions)),
        ];
        all.retain(|(_, files)| !files.is_empty());
        all
    }
}

fn rows(files: &[AgentFile]) -> Vec<(&Path, &str)> {
    files.iter().map(|file| (&*file.path, &*file.text)).collect()
}
