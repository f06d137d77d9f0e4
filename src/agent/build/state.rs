//! The state of a running build, its options and outcomes, and its folder `.mycode/builds/<id>` with the files that each
//! stage writes, for people to read and edit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::git;
use super::progress::BuildEvent;
use super::roles::{Roles, Stop};
use crate::qa::checks::CheckResult;
use serde::{Deserialize, Serialize};

use base::file::{self, FileError};
use base::folder::atomic_write::{self, Expect};
use base::folder::handle::Folder;
use base::folder::own;
use base::protocol::event::{EndReason, FailureCause};
use base::text::one_line;
use tools::cx::ToolCx;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BuildOptions {
    #[serde(skip)]
    pub pause_after: Option<String>,
    pub commit: bool,
    pub parallel: usize,
    /// Where the build's folder is, if not in `root`.
    #[serde(skip)]
    pub kept_in: Option<PathBuf>,
}

impl BuildOptions {
    const FILE: &str = "options.json";

    /// A build goes on as it began, unless told otherwise.
    pub fn kept(mut self, folder: &BuildFolder) -> Self {
        let begun = folder.read(Self::FILE).and_then(|text| serde_json::from_str::<Self>(&text).ok());
        if let Some(begun) = begun {
            self.commit |= begun.commit;
            self.parallel = if self.parallel > 1 { self.parallel } else { begun.parallel };
        }
        // A later run reports the disk's problem.
        let _ = folder.write(Self::FILE, &serde_json::to_string(&self).unwrap_or_default());
        self
    }
}

pub struct Build {
    pub id: String,
    pub folder: BuildFolder,
    pub roles: Roles,
    pub options: BuildOptions,
    /// How often each subtask ran without changing a file or running a check.
    pub idle: BTreeMap<usize, u32>,
    /// Results of the project's checks after this run's last change.
    pub checks: Option<Vec<CheckResult>>,
}

/// How a build ended: public name and exit code.
pub type Outcome = (&'static str, u8);

pub const PASSED: Outcome = ("passed", 0);
pub const FAILED: Outcome = ("failed", 1);
pub const NOTHING_CHANGED: Outcome = ("nothing_changed", 11);
pub const PAUSED: Outcome = ("paused", 0);
const PROVIDER_FAILED: Outcome = ("provider_failed", 4);
const COST_LIMIT: Outcome = ("cost_limit", 6);
const INTERRUPTED: Outcome = ("interrupted", 130);

impl Build {
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
        if self.options.commit { git::commit(&self.cx().root, subject).await } else { Ok(()) }
    }

    pub fn how_to_go_on(&self, what: &str) -> String {
        format!("{what} `mycode build --resume {}` continues.", self.id)
    }

    /// The outcome and message for a part that didn't finish.
    pub fn unfinished(&self, part: &str, end: &EndReason) -> (Outcome, String) {
        let (outcome, why) = match end {
            EndReason::Interrupted { .. } => (INTERRUPTED, "was interrupted".to_owned()),
            EndReason::ProviderFailed { message, hint, .. } => {
                (PROVIDER_FAILED, format!("got no answer from the model: {}; {hint}", one_line(message, 300)))
            }
            EndReason::StepLimit { limit } => (FAILED, format!("was not finished after {limit} steps")),
            // How a chat continues from there is no way to continue a build.
            EndReason::Failed { message, cause: FailureCause::CostLimit, .. } => {
                (COST_LIMIT, format!("stopped: {message}"))
            }
            EndReason::Failed { message, hint, .. } => (FAILED, format!("failed: {message}; {hint}")),
            EndReason::Done => (FAILED, "no answer".to_owned()),
        };
        (outcome, self.how_to_go_on(&format!("The part '{part}' {why}.")))
    }
}

const FOLDER: &str = ".mycode/builds";
const MAX_BYTES: u64 = 4 << 20;

#[derive(Clone, Debug)]
pub struct BuildFolder {
    pub root: PathBuf,
    /// Relative to the project.
    pub name: String,
}

impl BuildFolder {
    pub fn open(root: &Path, id: &str) -> Result<Self, FileError> {
        let name = format!("{FOLDER}/{id}");
        own::make(root, FOLDER)?;
        Folder::make(&root.join(&name))?;
        Ok(Self { root: root.to_owned(), name })
    }

    pub fn ids(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut ids: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        ids.sort();
        ids
    }

    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.name)
    }

    /// A file's text; `None` if it is missing or blank.
    pub fn read(&self, file: &str) -> Option<String> {
        let text = file::small_text(&self.root.join(self.path(file)), MAX_BYTES)?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// Writes a file with exactly one trailing newline.
    pub fn write(&self, file: &str, text: &str) -> Result<(), FileError> {
        let text = format!("{}\n", text.trim_end());
        atomic_write::write_exactly(&self.root.join(self.path(file)), text.as_bytes(), Expect::Anything)
    }
}
