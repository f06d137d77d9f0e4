//! Seatbelt, the sandbox of macOS.

pub mod seatbelt;
