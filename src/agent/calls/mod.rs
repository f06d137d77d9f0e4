//! From a tool call to its recorded result: policy, approval, execution, redaction.

pub mod approval;
pub mod call_effects;
pub mod dispatcher;
pub mod policy_engine;
pub mod result;
pub mod stages;
