//! Sessions: kept, reopened, rewound, replayed, and random ones.

mod busy_sessions;
mod earlier_work;
mod going_back;
mod random_faults;
mod random_sessions;
mod readers_props;
mod replays;
mod session_state;
mod sessions;
pub mod undo;
mod undo_conflicts;
pub mod undo_journal;
