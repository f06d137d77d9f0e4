//! From a tool call to its recorded result: policy, approval, execution, redaction.

pub mod approval;
pub mod dispatcher;
pub mod policy_engine;
pub mod result;
pub mod surroundings;
