//! What programs do, by table: their options, sub-commands and the files they touch.

pub mod assess;
pub mod assessment;
pub mod build_tools;
pub mod builds;
pub mod filters;
pub mod git;
pub mod git_lists;
pub mod interpreters;
pub mod network;
pub mod network_tables;
pub mod options;
pub mod package_managers;
pub mod path_effects;
pub mod readers;
pub mod sed_awk;
pub mod writers;
