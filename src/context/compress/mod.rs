//! Making observations smaller: at the tool boundary, in history, as a summary.

pub mod spill;
