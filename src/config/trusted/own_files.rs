//! What a project defines for the model, sub-agents and slash commands: their prompts decide what it does, so they count once
//! the user trusts all of them exactly as they are.

use std::path::Path;

use super::agent_files::{self, AgentFile};
use super::command_files::{self, CommandFile};
use super::trust::Trust;

/// The files that count: the user's, and the project's if they are trusted; with what the user should know.
pub fn load(
    config: &Path,
    workspace: &Path,
    state: &Path,
    trust: bool,
) -> (Vec<AgentFile>, Vec<CommandFile>, Option<String>) {
    let (mut agents, mut commands) = (agent_files::of_user(config), command_files::of_user(config));
    let project = of_project(workspace);
    if project.is_empty() {
        return (agents, commands, None);
    }
    if trust || Trust::of_agents(state).holds(&agent_files::contents(&project, workspace)) {
        agents.extend(agent_files::of_project(workspace));
        // Of two with a name the project's is meant.
        commands.splice(..0, command_files::of_project(workspace));
        return (agents, commands, None);
    }
    let notice = format!(
        "This project defines {} ({}). Ignored, because they are not trusted as they are now; `mycode trust` trusts them.",
        kinds(&project),
        agent_files::names(&project, workspace)
    );
    (agents, commands, Some(notice))
}

/// All that a project defines.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let commands = command_files::of_project(workspace);
    let commands = commands.iter().map(CommandFile::definition);
    agent_files::of_project(workspace).into_iter().chain(commands).collect()
}

/// What they are, for users.
pub fn kinds(files: &[AgentFile]) -> &'static str {
    let is_command = |file: &AgentFile| file.path.iter().any(|part| part == "commands");
    match (files.iter().all(is_command), files.iter().any(is_command)) {
        (true, _) => "commands",
        (false, true) => "sub-agents and commands",
        (false, false) => "sub-agents",
    }
}
