//! How large a model's window is on its server: asked, learned from refusals, remembered.

pub mod finder;
pub mod probe;
