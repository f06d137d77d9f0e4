//! The front end of editors: the Agent Client Protocol (ACP) version 1 over standard input and output.
//!
//! Facts: agentclientprotocol.com/protocol/v1 and the JSON schema in npm `@agentclientprotocol/sdk` 2.4.0, looked up
//! 2026-11-22. The types are those of `agent-client-protocol-schema`, the part of the official crate that describes the wire;
//! the connection is our own, because it must know limits, answer garbage, and weigh little.
//!
//! Three decisions. Commands run in our sandbox and never in a terminal of the client, at no permission level: a client's
//! terminal would escape the sandbox, the time limits, the undo journal and the redaction; what a command prints is shown as
//! content of its call while it runs. Read, Edit, MultiEdit and Write see what the editor shows and write through it, where it
//! offers that; searches look at the disk. Permission levels and modes of work are one list of modes, since a client has one
//! selector for both.

pub mod client_files;
pub mod connection;
pub mod error;
pub mod incoming;
pub mod prompt;
pub mod serve;
pub mod session;
pub mod sessions;
pub mod source;
pub mod updates;
