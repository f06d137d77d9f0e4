//! How large a text or a request is: estimate, upper bound, exact tokenizer.

pub mod estimate;
pub mod request_size;
pub mod tokenizer;
pub mod truncation;
pub mod upper_bound;
