//! From one request to one reply: the stream, what has come of it, and replies that would not end.

pub mod repetition_guard;
pub mod sampler;
pub mod stream_accumulator;
