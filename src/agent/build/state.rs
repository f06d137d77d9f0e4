//! A build at work: its folder, its roles, what the user wants of it, and how it can end.

use super::folder::BuildFolder;
use super::git;
use super::progress::BuildEvent;
use super::roles::{Roles, Stop};
use base::protocol::event::EndReason;
use base::text::one_line;

/// The stages after which a build can be paused.
pub const STAGES: [&str; 4] = ["spec", "plan", "code", "review"];

/// What the user wants of a build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// One of [`STAGES`].
    pub pause_after: Option<String>,
    /// A commit for each subtask.
    pub commit: bool,
    /// Subtasks side by side.
    pub parallel: usize,
}

/// A build at work.
pub struct Build {
    pub id: String,
    pub folder: BuildFolder,
    pub roles: Roles,
    pub options: BuildOptions,
}

/// How a build ended, and its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// A review found what no fix has mended, or a stage could not be done.
    Failed,
    Paused,
    ProviderFailed,
    Interrupted,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
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
            Self::Interrupted => 130,
        }
    }
}

impl Build {
    /// Stops where the user wants to look at what this stage made.
    pub fn pause_after(&self, stage: &'static str) -> Result<(), Stop> {
        match self.options.pause_after.as_deref() {
            Some(wanted) if wanted == stage => Err(Stop::Paused(stage)),
            _ => Ok(()),
        }
    }

    /// Writes one of the build's files, and says so.
    pub fn wrote(&self, file: &str, text: &str) -> Result<(), Stop> {
        self.folder.write(file, text).map_err(|error| self.unwritable(file, error))?;
        self.roles.show.say(&BuildEvent::Wrote { file: &self.folder.path(file) });
        Ok(())
    }

    /// Why the build stops when one of its files cannot be written.
    pub fn unwritable(&self, file: &str, error: impl std::fmt::Display) -> Stop {
        let message = format!("{} can't be written: {error}", self.folder.path(file));
        Stop::failed(message, "check the disk space and the permissions of the folder")
    }

    /// Commits what was changed, where the user wants commits.
    pub async fn commit(&self, subject: &str) -> Result<(), Stop> {
        match self.options.commit {
            true => git::commit(&self.roles.session.agents.cx.root, subject).await,
            false => Ok(()),
        }
    }

    /// The sentence with the command that goes on.
    pub fn how_to_go_on(&self, what: &str) -> String {
        format!("{what} `mycode build --resume {}` goes on.", self.id)
    }

    /// How a build ends whose part did not, and what the user is told.
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
            EndReason::Done => (Outcome::Failed, "gave no answer".to_owned()),
        };
        (outcome, self.how_to_go_on(&format!("The part '{part}' {why}.")))
    }
}
