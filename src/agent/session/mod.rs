//! The session as the agent holds it: log and history together, resumed, rewound, looked into.

pub mod conversation;
pub mod inspect;
pub mod recall;
pub mod reopen;
pub mod restore;
pub mod rewind;
pub mod rewind_ops;
pub mod undo_stack;
