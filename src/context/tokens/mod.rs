//! The size of a text or request: estimated, upper bound, and corrected by server reports.

pub mod calibration;
pub mod estimate;
pub mod request_size;
pub mod tokenizer;
