//! What a project may define only if the user trusts its exact contents.

pub mod active;
pub mod agent_files;
pub mod held_back;
pub mod json_files;
pub mod own_files;
pub mod plugin;
pub mod project_file;
pub mod skill_files;
pub mod trust;
