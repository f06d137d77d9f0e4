//! git in front of protected paths: what a command of git would change is found out before it runs, so that it changes all of it
//! or nothing.

pub mod arguments;
pub mod changes;
pub mod files;
pub mod guarded;
pub mod harmless_config;
pub mod preview;
pub mod question;
pub mod settings;
pub mod wrapper;
