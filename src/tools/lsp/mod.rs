//! Language servers: started when a file in their language is edited or queried, sandboxed, and kept in sync
//! with the files on disk. `servers` is the session's entry point, `programs` picks the program, `server`
//! runs it, `findings` filters what is new, `protocol` reads and writes the messages.

pub mod connection;
pub mod findings;
pub mod programs;
pub mod protocol;
pub mod server;
pub mod servers;
