//! Everything that differs between operating systems. A port to Windows is work here, in `folder/handle.rs` and in the sandbox.

pub mod facts;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
pub mod os;
