//! Web access for the model: single pages by address, and search.

pub mod address;
pub mod client;
pub mod fetch;
pub mod markdown;
pub mod page;
pub mod search;
pub mod state;
