//! Syntax highlighting: a single-pass scanner with a small state, and a table of languages.
//!
//! Why not a crate (measured 2026-11-22, release build, four builds running): syntect 5.3.0 with two-face
//! 0.5.2 (fancy-regex) takes 70 ms for the first 4 KB of Rust and 7 to 16 ms for each further 4 KB;
//! tree-sitter needs a C parser per language. A streaming block is redrawn every frame on the thread that
//! echoes keys, which leaves a few ms. This scanner takes about 0.3 ms for 4 KB (bench `code_block_4kb`).

pub mod languages;
pub mod scanner;
