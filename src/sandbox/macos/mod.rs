//! Seatbelt.

pub mod seatbelt;
