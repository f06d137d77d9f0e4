//! When the past is rewritten and how: the policy, its stages, the cost model, and folds.

pub mod batch;
pub mod cache_model;
pub mod fold;
pub mod fold_ranges;
pub mod forced;
pub mod policy;
pub mod profile;
pub mod reductions;
pub mod stages;
pub mod working_set;
