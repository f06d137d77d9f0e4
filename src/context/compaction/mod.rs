//! When and how the past is rewritten: `policy` decides before each request, with `rewrite_plan` (what is
//! dispensable) and `cache_model` (what it costs); if that isn't enough, `stages` follow, ending with `trim`.

pub mod batch;
pub mod cache_model;
pub mod fold;
pub mod policy;
pub mod rewrite_plan;
pub mod stages;
pub mod thresholds;
pub mod trim;
pub mod working_set;
