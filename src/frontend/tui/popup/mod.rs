//! Everything that opens above the composer: completions, questions, lists (`pickers`), context, rewind. Each
//! has its own state, keys and drawing; only `complete` knows the app.

pub mod approval;
pub mod completion;
pub mod context;
pub mod list;
pub mod open;
pub mod pickers;
pub mod question;
pub mod rewind;
