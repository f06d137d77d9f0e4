//! How large a text or a request is: estimated, at most, by the model's tokenizer, and corrected by what servers report.

pub mod calibration;
pub mod estimate;
pub mod request_size;
pub mod tokenizer;
pub mod upper_bound;
