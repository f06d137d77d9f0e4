//! The terminal front end: an inline viewport at the end of the terminal's own scrollback. Sees the agent only
//! through `protocol` (`Op` in, `Event` out); never imports agent, provider or tool.

pub mod app;
pub mod burst;
pub mod command;
pub mod composer;
pub mod keymap;
pub mod markdown;
pub mod msg;
pub mod on_event;
pub mod popup;
pub mod run;
pub mod screen;
pub mod status;
pub mod terminal;
pub mod theme;
pub mod transcript;
pub mod update;
pub mod view;
pub mod wrap;
