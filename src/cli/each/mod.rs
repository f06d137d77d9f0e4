//! `mycode exec --each`: many tasks, each in a process and a folder of its own, with one line of result a task.

pub mod args;
pub mod child;
pub mod place;
pub mod results;
pub mod run;
pub mod tasks;
