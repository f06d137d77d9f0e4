//! What a bash command would run, without running it. The way of a command:
//!
//! 1. `syntax` turns its text into a tree (`parser`, with `lexer`, `clauses` and `word` below it). What bash may read in
//!    more than one way is refused.
//! 2. `interpret` walks the tree in the order in which it would run (`interpreter`), expands words as far as they are
//!    known (`expand`, `variables`, `known_output`), does to folder and variables what builtins do (`builtins`), and looks
//!    into programs that run others, such as `env`, `xargs` and `bash -c` (`wrappers`).
//! 3. The result is a list of [`interpret::call::Call`]: a program with its words, its redirections and the folders in
//!    which it may run. A part of a word that is not known is marked so; a call of which nobody can say what it runs says
//!    why.
//!
//! `policy::command` assesses the calls, once for each tool call; verdict, rules, confinement and the always-allow rule use that.

pub mod interpret;
pub mod syntax;
