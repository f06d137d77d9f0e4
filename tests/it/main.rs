//! The only integration test binary (fast link); one file a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod architecture;
mod main_job;
mod provider_faults;
mod provider_stream;
mod provider_wire;
mod sessions;
mod turns;
mod tools_bash;
mod tools_edit;
mod tools_files;
mod tools_find;
mod tools_props;
mod tools_read;
mod tools_support;

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
mod tui_screen;
