//! The only integration test binary (fast link); one file a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod accounts;
mod architecture;
mod awareness;
mod context_props;
mod edit_cases;
mod edit_states;
mod exact_counts;
mod faults;
mod going_back;
mod hostile_text;
mod jobs;
mod locate;
mod locate_past;
mod main_job;
mod memory;
mod notes;
mod notes_in_requests;
mod policy_cli;
mod policy_grammar;
mod policy_tables;
mod prompts;
mod provider_faults;
mod provider_stream;
mod provider_wire;
mod readers_props;
mod redaction;
mod replays;
mod sandbox;
mod sessions;
mod terminal;
mod tools_bash;
mod tools_edit;
mod tools_files;
mod tools_find;
mod tools_props;
mod tools_read;
mod traces;
mod trust;
mod tui_screen;
mod turns;
mod undo;
mod windows;
