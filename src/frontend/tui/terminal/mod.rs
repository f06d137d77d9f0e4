//! The terminal: setup and restore, keys, viewport.

pub mod attention;
pub mod background;
pub mod connection;
pub mod key_name;
pub mod key_table;
pub mod keymap;
pub mod paste_detector;
pub mod screen;
pub mod setup;
pub mod split_key;
