//! `mycode build`: a task becomes a spec, a plan, code, a review and a report, each by a sub-agent that sees
//! only its part. Stages hand over files that people may edit, and from which an interrupted build resumes.
//! Start reading at `run.rs`.

pub mod changes;
pub mod checks;
pub mod coding;
pub mod git;
pub mod plan;
pub mod progress;
pub mod prompts;
pub mod review;
pub mod roles;
pub mod run;
pub mod state;
