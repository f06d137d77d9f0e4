//! The terminal front end: an inline viewport at the end of the terminal's own scrollback.

pub mod app;
pub mod command;
pub mod composer;
pub mod effects;
pub mod msg;
pub mod pager;
pub mod plain;
pub mod popup;
pub mod print_queue;
pub mod render;
pub mod run;
pub mod terminal;
pub mod transcript;
pub mod update;
