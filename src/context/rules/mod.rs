//! The project's rules files (SPEC §1, L2): `rules_file` reads one, `project_rules` joins those of the folders.

pub mod project_rules;
pub mod rules_file;
