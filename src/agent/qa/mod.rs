//! Judging finished work, for `build` and `exec --review`: the project's own checks, and a reviewer's verdict.

pub mod checks;
pub mod prompts;
pub mod verdict;
