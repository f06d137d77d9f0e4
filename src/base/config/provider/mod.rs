//! Vendors, their models and prices, saved keys, and which server a run uses.

pub mod image_tokens;
pub mod models;
pub mod provider_section;
pub mod saved_keys;
pub mod vendors;
