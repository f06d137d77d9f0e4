//! The pager: a session, the outputs of its tools or its changes on the whole screen, with search and copying. What it shows
//! is read when it opens; only what is seen is laid out.

pub mod cell;
pub mod kind;
pub mod marks;
pub mod page;
pub mod state;
