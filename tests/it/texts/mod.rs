//! Every text that a user sees, on a few pages to be read as one: `tests/fixtures/texts/*.txt`. After a change on
//! purpose, `UPDATE_TEXTS=1 cargo test --test it texts` writes the pages anew; review the diff.

mod command_line;
mod errors;
mod notices;
pub mod page;
mod screen;
mod words;
