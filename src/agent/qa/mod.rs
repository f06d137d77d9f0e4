//! Judges finished work for `build`, `exec --review` and `mycode review`: the project's own checks, and a reviewer's verdict.

pub mod checks;
pub mod reviewer;
pub mod verdict;
