//! When and how the past is rewritten. In the order of use: `policy` decides before each request, with what `rewrite_plan`
//! finds dispensable and what `cache_model` says of its price; where that is not enough, `stages` go on in fixed order, the
//! last of them by force (`trim`).

pub mod batch;
pub mod cache_model;
pub mod fold;
pub mod policy;
pub mod rewrite_plan;
pub mod stages;
pub mod thresholds;
pub mod trim;
pub mod working_set;
