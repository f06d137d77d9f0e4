//! The full-screen pager with search and copying. Only visible cells are laid out.

pub mod cell;
pub mod state;
