//! What sessions did and cost, gathered from their logs and undo journals: for `mycode report` and `/stats`. Reads each log
//! once, line by line; knows no front end and changes nothing.

pub mod figures;
pub mod gather;
pub mod period;
pub mod render;
pub mod session;
