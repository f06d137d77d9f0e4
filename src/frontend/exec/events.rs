//! The JSON Schema of what `exec --json` prints, as `mycode schema events` prints it. Tests hold real streams against it.

/// The schema.
pub const SCHEMA: &str = include_str!("events.schema.json");
