//! What a bash command would run, determined without running it:
//! 1. `syntax` parses the text into a tree, and refuses what bash may read in more than one way.
//! 2. `interpret` walks the tree in execution order (`interpreter`), expands words as far as they are known
//!    (`expand`, `variables`, `known_output`), applies builtins (`builtins`), and looks into programs that
//!    run others, such as `env`, `xargs` and `bash -c` (`wrappers`).
//! 3. The result is a list of [`interpret::call::Call`]: a program with its words, redirections and possible
//!    folders. Unknown parts of words are marked, and a call with an unknown effect says why.

pub mod interpret;
pub mod syntax;
