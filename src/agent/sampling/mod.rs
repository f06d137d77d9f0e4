//! From request to reply: the stream, its accumulated result, and stopping endless replies.

pub mod metered;
pub mod repetition_guard;
pub mod sampler;
pub mod stream_accumulator;
