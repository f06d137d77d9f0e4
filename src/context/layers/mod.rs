//! The six layers of a request; `catalog` has their wire order.

pub mod l1_system;
pub mod l2_project_rules;
pub mod l3_history;
