//! What git remembers: which files changed together, when, and with which words. Works without git, too: then there is
//! no past. Knows nothing of queries' other signals.

pub mod git;
pub mod history;
pub mod keep;
pub mod similar;
