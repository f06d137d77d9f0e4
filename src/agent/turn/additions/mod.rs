//! What the program adds to a turn: news, notes, skills, a mode's survey. Each is said once and stays.

pub mod news;
pub mod notes;
pub mod skills;
pub mod survey;
