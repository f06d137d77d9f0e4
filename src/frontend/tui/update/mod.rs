//! The reducer: applies messages and agent events to the state.

pub mod composer_keys;
pub mod on_event;
pub mod on_lists;
pub mod on_message;
pub mod on_popup;
pub mod viewing;
