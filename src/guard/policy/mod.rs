//! What may run: the accesses that a call declares, the user's rules, and the verdict.

pub mod access;
pub mod command;
pub mod command_prefix;
pub mod denied_paths;
pub mod flag_rules;
pub mod path_scope;
pub mod programs;
pub mod rules;
pub mod session_grant;
pub mod tool_rule;
pub mod verdict;
