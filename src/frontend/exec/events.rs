//! The JSON Schema of `exec --json` output (`mycode schema events`). Tests validate real streams with it.

pub const SCHEMA: &str = include_str!("events.schema.json");
