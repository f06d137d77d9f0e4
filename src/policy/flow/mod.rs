//! What a script will run: the tree walked in order, with variables, folders and wrappers followed as far as they are
//! certain. Knows no verdict.

pub mod call;
pub mod fold;
pub mod names;
pub mod runs;
pub mod state;
pub mod steering;
pub mod walk;
pub mod walker;
pub mod wrapper;
