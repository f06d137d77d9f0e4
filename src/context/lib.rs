//! Context engineering: what part of the session is sent to the model, in which form, and its ledger. A result enters
//! `history`, where it gets its first form from the filters of `compress`. Before a request, `compaction` adopts smaller
//! forms in batches; if that isn't enough, a `summary` replaces old rounds. `builder` makes the request and its `ledger`
//! from the `layers`, `prefix` records what changed since the last request, `tokens` measures, and `replay` rebuilds all of
//! it from the log. Knows no tool, provider dialect or front end.

pub mod builder;
pub mod compaction;
pub mod compress;
pub mod history;
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
