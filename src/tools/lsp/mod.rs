//! Language servers: started when a file of their language is edited or asked about, confined, kept in step with the files
//! on disk, and asked what is wrong and where things are. Nothing runs, waits or is sent before that.
//!
//! `servers::LanguageServers` is what a session has of it. It finds the row of `config/language_servers.toml` and the
//! program (`programs`), starts a `server` (whose process is a `base/process/service`), sends it an edit and waits for what it
//! finds; `findings` says what of that is new. `protocol` alone knows the types of the protocol's crate.

pub mod connection;
pub mod findings;
pub mod found;
pub mod programs;
pub mod protocol;
pub mod server;
pub mod servers;
pub mod survey;
pub mod wire;
