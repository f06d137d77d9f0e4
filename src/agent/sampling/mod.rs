//! From one request to one reply: the stream, its accumulated result, and the end of endless replies.

pub mod metered;
pub mod repetition_guard;
pub mod sampler;
pub mod stream_accumulator;
