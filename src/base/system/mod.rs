//! What differs between operating systems, in one place: a port to Windows is work here, in `folder/handle.rs` and in the sandbox.

pub mod facts;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
pub mod os;
