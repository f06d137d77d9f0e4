//! Context engineering: what of the session is sent to the model, in which form, and the account of it. In the order that
//! data takes: a result enters the `history`, whose `ingest` chooses its first form with the filters of `compress`; before a
//! request `compaction` adopts smaller forms in batches; when that is not enough a `summary` replaces old rounds; `builder`
//! makes the request and its `ledger` from the `layers` that `catalog` lists; `prefix` records what of the last request
//! changed. `tokens` measures, and `replay` makes all of it again from the log.
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
pub mod replay;
pub mod report;
pub mod rules;
pub mod session;
pub mod summary;
pub mod tokens;
