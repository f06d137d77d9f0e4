//! The front end for editors: the Agent Client Protocol (ACP) version 1 over standard input and output.
//!
//! Source: agentclientprotocol.com/protocol/v1 and the JSON schema in npm `@agentclientprotocol/sdk` 2.4.0,
//! as of 2026-11-22. Types come from `agent-client-protocol-schema`; the connection is ours, since it needs
//! as of 2026-11-22. Types come from `agent-client-protocol-schema`; the connection is ours, because it needs
//!
//! Commands never run in a terminal of the client: that would bypass the sandbox, the time limits, the undo
//! journal and redaction. File tools read and write through the editor where it offers that; searches use the
//! disk. Permission levels and modes share one list, because clients have one selector.

pub mod client_files;
pub mod connection;
pub mod error;
pub mod prompt;
pub mod serve;
pub mod session;
pub mod sessions;
pub mod source;
pub mod updates;
