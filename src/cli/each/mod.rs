//! `mycode exec --each`: many tasks, each in its own process and folder, with one result line per task.

pub mod args;
pub mod attempts;
pub mod batch;
pub mod child;
pub mod own_tree;
pub mod run;
pub mod sessions;
pub mod task_dir;
pub mod tasks;
