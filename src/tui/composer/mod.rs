//! The field in which the user writes: text and cursor, pastes that stay folded, soft wrap, prompt history.

pub mod buffer;
pub mod editor;
pub mod history;
pub mod layout;
pub mod paste;
