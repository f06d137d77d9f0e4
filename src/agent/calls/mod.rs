//! From a tool call to its recorded result: policy, approval, execution, redaction.

pub mod dispatcher;
pub mod file_changes;
pub mod policy_engine;
