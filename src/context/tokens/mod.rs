//! Sizes of texts and requests: estimates, upper bounds, and corrections from server reports.

pub mod calibration;
pub mod estimate;
pub mod request_size;
pub mod tokenizer;
