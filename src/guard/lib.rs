//! What a command would do (`shell`), whether it may (`policy`), how it is confined (`sandbox`), and `redact`.

pub mod policy;
pub mod redact;
pub mod sandbox;
pub mod shell;
