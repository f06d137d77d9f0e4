//! Colors for program text: a scanner that needs one pass and no memory but a small state, and a table of languages.
//!
//! Why not a crate (measured 2026-11-22, release build, four other builds running): syntect 5.3.0 with two-face 0.5.2
//! (fancy-regex) takes 70 ms for the first 4 KB of Rust and 7 to 16 ms for each 4 KB after that; tree-sitter brings a parser in
//! C for each language. A block is drawn anew with each frame while it streams, on the thread that echoes keys: that leaves a
//! few milliseconds. This scanner takes about 0.15 ms for 4 KB (bench `code_block_4kb`).

pub mod languages;
pub mod scanner;
