//! The input field: text and cursor, folded pastes, soft wrap, prompt history.

pub mod buffer;
pub mod editor;
pub mod grapheme;
pub mod paste;
pub mod vim;
