//! The only integration test binary (fast link); one file a subject.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
mod tui_screen;
