//! Context engineering: what of the session is sent to the model, in which form, and the account of it.
//! Works on `model` results; knows no tool, no provider dialect and no front end.

pub mod builder;
pub mod catalog;
pub mod compaction;
pub mod compress;
pub mod history;
pub mod layer;
pub mod layers;
pub mod ledger;
pub mod mention;
pub mod parts;
pub mod prefix;
pub mod project_rules;
pub mod replay;
pub mod summary;
pub mod tokens;
