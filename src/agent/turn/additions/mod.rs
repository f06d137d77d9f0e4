//! What the program adds on its own account: news, notes, skills, and what a mode gathers. Each is said once and stays.

pub mod news;
pub mod notes;
pub mod skills;
pub mod survey;
