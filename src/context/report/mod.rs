//! What sessions did and cost, from their logs and undo journals, for `mycode report` and `/stats`.

pub mod figures;
pub mod gather;
pub mod period;
pub mod render;
pub mod session;
