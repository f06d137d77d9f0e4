//! What is sent: the account, the window, notes, rules, prompts, memory.

mod accounts;
mod epochs;
mod filters;
mod folding;
mod memory;
mod notes;
mod notes_folder;
mod notes_in_requests;
mod profiles;
mod prompts;
mod props;
mod rules_files;
mod windows;
