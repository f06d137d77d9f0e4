//! What is counted of a replay: tokens and their cost, how long a prefix lives, and what later calls used that was still in
//! view.

pub mod epochs;
pub mod measure;
pub mod originals;
pub mod verbatim;
