//! What lies in a project and counts only once the user trusts it as it is: configuration, rules, sub-agents, commands.

pub mod agent_files;
pub mod command_files;
pub mod held_back;
pub mod hook_files;
pub mod mcp_files;
pub mod own_files;
pub mod skill_files;
pub mod trust;
