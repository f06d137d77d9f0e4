//! `mycode build`: a task becomes a specification, a plan, code, a review and a report, each by a sub-agent that knows only
//! its part (SPEC §10). What stands between the stages are files of the project, which people may edit; where a build was
//! cut off it goes on from them. Start reading at `run.rs`.

pub mod coding;
pub mod folder;
pub mod git;
pub mod plan;
pub mod progress;
pub mod prompts;
pub mod report;
pub mod review;
pub mod roles;
pub mod run;
pub mod state;
