//! From state to styled lines.

pub mod markdown;
pub mod panel;
pub mod status;
pub mod theme;
pub mod view;
pub mod wrap;
