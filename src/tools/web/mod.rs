//! What the model reads of the web: one page by its address, or what a search finds.

pub mod address;
pub mod cache;
pub mod client;
pub mod fetch;
pub mod markdown;
pub mod page;
pub mod search;
pub mod state;
