//! What the program adds to a turn: news, notes, skills, a mode's survey. Each is added once and stays.

pub mod notes;
pub mod reminders;
pub mod skills;
pub mod survey;
