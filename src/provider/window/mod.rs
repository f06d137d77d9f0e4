//! How large a model's window is on its server: asked, learned from refusals, and stored.

pub mod finder;
pub mod probe;
