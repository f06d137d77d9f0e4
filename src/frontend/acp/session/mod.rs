//! One open session: its commands and replies.

pub mod options;
pub mod questions;
pub mod run;
pub mod work;
