//! Everything that differs between operating systems, apart from `folder/handle.rs` and the sandbox.

pub mod os;
