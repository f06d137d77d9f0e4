//! One open session: what the client wants of it, and what is answered.

pub mod command;
pub mod options;
pub mod questions;
pub mod run;
pub mod slash;
pub mod stop;
pub mod work;
