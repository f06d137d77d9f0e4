//! When and how the past is rewritten: `policy` decides before each request; `fold_plan` chooses what leaves
//! and `note` says what it did; if that isn't enough, `stages` follow, ending with `trim`.

pub mod fold_plan;
pub mod note;
pub mod policy;
pub mod renewed;
pub mod stages;
pub mod thresholds;
pub mod working_set;
