//! Ground floor: text, time, secrets, files and processes. Knows nothing of agents, models or tools.

pub mod atomic;
pub mod clock;
pub mod diff_cut;
pub mod encoding;
pub mod file;
pub mod leash;
pub mod path;
pub mod proc;
pub mod quota;
pub mod reap;
pub mod sanitize;
pub mod secret;
pub mod text;
