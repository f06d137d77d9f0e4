//! Filters at ingest: what an observation loses before it is first sent. They touch only what is new, so they never break
//! the prompt cache, and they are near-lossless: noise and repetition go, errors and places stay.

pub mod apply;
pub mod error_lines;
pub mod head_tail;
pub mod json_shape;
pub mod repeats;
pub mod runner;
pub mod terminal;
