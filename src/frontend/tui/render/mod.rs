//! Rendering of state as styled lines.

pub mod highlight;
pub mod links;
pub mod markdown;
pub mod status;
pub mod table;
pub mod theme;
pub mod view;
pub mod wrap;
