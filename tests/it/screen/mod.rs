//! The chat in a terminal.

mod away;
mod chat_keys;
mod composer;
mod composer_prefixes;
mod drawing;
mod goals;
mod habits;
mod login;
mod own_keys;
mod panel;
mod pickers;
mod plain_mode;
mod questions;
mod resizing;
mod terminal;
mod viewing;
