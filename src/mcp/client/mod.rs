//! The connections.
