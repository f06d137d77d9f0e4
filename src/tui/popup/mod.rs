//! What opens above the composer: completions, questions of the agent, the list of sessions. Each keeps its own state,
//! takes its own keys and draws its own lines; none knows the app, except `complete`, which opens and closes them.

pub mod approval;
pub mod ask;
pub mod commands;
pub mod complete;
pub mod files;
pub mod list;
pub mod question;
pub mod rewind;
pub mod sessions;
