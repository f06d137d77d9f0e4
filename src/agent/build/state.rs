//! The state of a running build, its options, and how it can end.

use std::collections::BTreeMap;

use super::folder::BuildFolder;
use super::git;
use super::progress::BuildEvent;
use super::roles::{Roles, Stop};
use crate::qa::checks::CheckResult;
use base::protocol::event::EndReason;
use base::text::one_line;
use tools::cx::ToolCx;

/// The stages after which a build can be paused.
pub const STAGES: [&str; 4] = ["spec", "plan", "code", "review"];

#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    pub pause_after: Option<String>,
    pub commit: bool,
    pub parallel: usize,
}

pub struct Build {
    pub id: String,
    pub folder: BuildFolder,
    pub roles: Roles,
    pub options: BuildOptions,
    /// Subtasks that changed no file and ran no check, with how often they were tried.
    pub idle: BTreeMap<usize, u32>,
    /// The project's checks, after this run's last change.
    pub checks: Option<Vec<CheckResult>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// The last review still found problems, or a stage failed.
    Failed,
    /// No role changed a file of the project.
    NothingChanged,
    Paused,
    ProviderFailed,
    Interrupted,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NothingChanged => "nothing_changed",
            Self::Paused => "paused",
            Self::ProviderFailed => "provider_failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed | Self::Paused => 0,
            Self::Failed => 1,
            Self::ProviderFailed => 4,
            Self::NothingChanged => 11,
            Self::Interrupted => 130,
        }
    }
}

impl Build {
    /// In the project's folder.
    pub fn cx(&self) -> &ToolCx {
        &self.roles.session.agents.dispatcher.cx
    }

    pub fn pause_after(&self, stage: &'static str) -> Result<(), Stop> {
        match self.options.pause_after.as_deref() {
            Some(wanted) if wanted == stage => Err(Stop::Paused(stage)),
            _ => Ok(()),
        }
    }

    pub fn wrote(&self, file: &str, text: &str) -> Result<(), Stop> {
        self.folder.write(file, text).map_err(|error| self.unwritable(file, error))?;
        self.roles.show.say(&BuildEvent::Wrote { file: &self.folder.path(file) });
        Ok(())
    }

    pub fn unwritable(&self, file: &str, error: impl std::fmt::Display) -> Stop {
        let message = format!("{} can't be written: {error}", self.folder.path(file));
        Stop::failed(message, "check the disk space and the permissions of the folder")
    }

    pub async fn commit(&self, subject: &str) -> Result<(), Stop> {
        match self.options.commit {
            true => git::commit(&self.cx().root, subject).await,
            false => Ok(()),
        }
    }

    pub fn how_to_go_on(&self, what: &str) -> String {
        format!("{what} `mycode build --resume {}` continues.", self.id)
    }

    /// The outcome and message for a part that didn't finish.
    pub fn unfinished(&self, part: &str, end: &EndReason) -> (Outcome, String) {
        let (outcome, why) = match end {
            EndReason::Interrupted { .. } => (Outcome::Interrupted, "was interrupted".to_owned()),
            EndReason::ProviderFailed { message, hint, .. } => (
                Outcome::ProviderFailed,
                format!("got no answer from the model: {}; {hint}", one_line(message, 300)),
            ),
            EndReason::StepLimit { limit } => (Outcome::Failed, format!("was not done after {limit} steps")),
            EndReason::Failed { message, hint, .. } => {
                (Outcome::Failed, format!("failed: {message}; {hint}"))
            }
            EndReason::Done => (Outcome::Failed, "no answer".to_owned()),
        };
        (outcome, self.how_to_go_on(&format!("The part '{part}' {why}.")))
    }
}
