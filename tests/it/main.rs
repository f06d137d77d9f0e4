//! The only integration test binary (fast link); a room or a file for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod acp;
mod acp_sessions;
mod architecture;
mod batches;
mod builds;
mod context;
mod edit;
mod faults;
mod first_hour;
mod goals;
mod headless;
mod hooks;
mod images;
mod imports;
mod interrupts;
mod language_servers;
mod limits;
mod local_faults;
mod main_job;
mod maintain;
mod mcp;
mod misbehavior;
mod modes;
mod own_commands;
mod packaging;
mod policy;
mod provider;
mod reports;
mod reviews;
mod sandbox;
mod screen;
mod scripts;
mod sdks;
mod session;
mod skills;
mod sub_agents;
mod texts;
mod tools;
mod traces;
mod turns;
mod web;
mod web_search;
mod work;
