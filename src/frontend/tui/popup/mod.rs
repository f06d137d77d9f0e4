//! What opens above the composer: completions, questions of the agent, lists to choose from (`pickers`), the context, the points of a
//! rewind. Each keeps its own state, takes its own keys and draws its own lines; none knows the app, except `complete`.

pub mod approval;
pub mod ask;
pub mod completion;
pub mod context;
pub mod history;
pub mod ledger;
pub mod list;
pub mod open;
pub mod pickers;
pub mod question;
pub mod rewind;
pub mod theme;
