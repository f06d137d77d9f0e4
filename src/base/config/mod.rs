//! Settings: the file's shape (`raw`), where each value came from (`load`), and the validated sections that the rest
//! of the program uses (`settings`). Nobody above receives the whole configuration; each part gets its own section.

pub mod image_tokens;
pub mod keys;
pub mod language_servers;
pub mod load;
pub mod mode;
pub mod models;
pub mod paths;
pub mod prompts;
pub mod raw;
pub mod remember;
pub mod settings;
pub mod theme;
pub mod trusted;
