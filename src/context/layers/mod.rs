//! The six layers of a request; their wire order is in `catalog`.

pub mod l1_system;
pub mod l2_project_rules;
pub mod l3_history;
