//! Which calls run, what is never read or shown, and what a hostile checkout or text cannot do.

mod admin;
mod cli;
mod denials;
mod denied_files;
mod files;
mod grammar;
mod ground;
mod handles_props;
mod handles_race;
mod hostile_repository;
mod hostile_text;
mod redaction;
mod tables;
mod tool_access;
mod trust;
