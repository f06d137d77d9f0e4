//! What a result loses before it is first sent (`pipeline` has the order). Filters only touch new text, so
//! they never break the prompt cache, and are near-lossless: noise and repetition go, errors and places stay.

pub mod error_lines;
pub mod head_tail;
pub mod json_shape;
pub mod pipeline;
pub mod repeats;
pub mod success_lines;
pub mod terminal;
