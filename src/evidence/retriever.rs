//! One project's evidence for a session: opened in the background on first use, updated for each query.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::hints::ContextPacket;
use super::keywords::{self, Keyword};
use super::task_context::TaskContext;
use crate::categorize::FileCategory;
use crate::index::format::Damaged;
use crate::rank::locate::{Project, RankedFile};
use crate::rank::query::Query;
use base::{file, path};
use parking_lot::Mutex;

/// A smaller project can be viewed with a single LS.
const FEW_FILES: usize = 12;

pub type Hints = dyn Fn(&[String]) -> Vec<ContextPacket> + Send + Sync;

/// Files in added folders have absolute paths.
#[derive(Debug, Default)]
pub struct LocatedFiles {
    pub files: Vec<(RankedFile, FileCategory)>,
    pub unknown: Vec<String>,
    pub unkept: Option<String>,
}

impl LocatedFiles {
    fn new(project: &Project, files: Vec<(RankedFile, FileCategory)>) -> Result<Self, Damaged> {
        Ok(Self { files, unknown: Vec::new(), unkept: project.unkept.clone() })
    }
}

pub struct ContextRetriever {
    root: PathBuf,
    state: PathBuf,
    pub hints: Option<Box<Hints>>,
    others: Vec<Self>,
    asked: Mutex<Vec<Keyword>>,
}

impl ContextRetriever {
    /// `state` is the project's state folder. Opens nothing yet.
    pub fn new(root: &Path, state: &Path) -> Self {
        let (root, state) = (root.to_owned(), state.to_owned());
        Self { root, state, hints: None, others: Vec::new(), asked: Mutex::default() }
    }

    #[must_use]
    pub fn with_folders(self, folders: &[PathBuf]) -> Self {
        let other = |folder: &PathBuf| {
            let name = file::hash(folder.as_os_str().as_encoded_bytes());
            Self::new(folder, &self.state.join("folders").join(name))
        };
        let folders = folders.iter().filter(|folder| !folder.starts_with(&self.root));
        Self { others: folders.map(other).collect(), ..self }
    }

    /// Builds or updates the index. Blocks; for a background thread.
    pub fn warm(&self) {
        let _ = self.open();
        self.others.iter().for_each(Self::warm);
    }

    pub fn is_new_task(&self, text: &str) -> bool {
        let now = keywords::extract(&Query::parse(text));
        let asked = self.asked.lock();
        keywords::is_new_task(&asked, &now)
    }

    pub fn remember(&self, text: &str) {
        let now = keywords::extract(&Query::parse(text));
        *self.asked.lock() = now;
    }

    /// The context of a task, if worth showing. Blocks.
    pub fn task_context(&self, text: &str) -> Option<TaskContext> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let hints = |files: &[String]| self.hints.as_ref().map_or_else(Vec::new, |hints| hints(files));
        let gather = |project: &Project| {
            if project.index.files().nth(FEW_FILES).is_none() {
                return Ok(TaskContext::default());
            }
            TaskContext::gather(project, text, &hints, seconds)
        };
        let mut context = self.with_project(gather).ok()?;
        for other in &self.others {
            let more = other.with_project(gather).unwrap_or_default();
            context.add(more, |name| other.place(name));
        }
        (!context.is_empty()).then_some(context)
    }

    /// The best files for `text`, including added folders if they can be searched. Blocks.
    pub fn locate(&self, text: &str, limit: usize) -> Result<LocatedFiles, String> {
        let mut found =
            self.with_project(|project| LocatedFiles::new(project, project.locate(text, limit)?))?;
        for other in &self.others {
            let theirs = other.with_project(|project| project.locate(text, limit)).unwrap_or_default();
            found.files.extend(theirs.into_iter().map(|(file, role)| (other.placed(file), role)));
        }
        found.files.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        found.files.truncate(limit);
        Ok(found)
    }

    /// Files related to `paths`, each searched in its own folder. `text` describes the task; may be empty. Blocks.
    pub fn companions(&self, paths: &[String], text: &str, limit: usize) -> Result<LocatedFiles, String> {
        let whole = |given: &String| path::follow(&self.root.join(given));
        let in_other =
            |given: &&String| self.others.iter().position(|other| whole(given).starts_with(&other.root));
        let own: Vec<String> = paths.iter().filter(|given| in_other(given).is_none()).cloned().collect();
        let mut found = self.with_project(|project| {
            let (files, unknown) = project.companions(&own, text, limit)?;
            let files = files.into_iter().map(|file| (file, FileCategory::Modify)).collect();
            Ok::<_, Damaged>(LocatedFiles { unknown, ..LocatedFiles::new(project, files)? })
        })?;
        for (number, other) in self.others.iter().enumerate() {
            let theirs = paths.iter().filter(|given| in_other(given) == Some(number));
            let theirs: Vec<String> =
                theirs.map(|given| whole(given).to_string_lossy().into_owned()).collect();
            if !theirs.is_empty() {
                let (files, unknown) =
                    other.with_project(|project| project.companions(&theirs, text, limit))?;
                let files = files.into_iter().map(|file| (other.placed(file), FileCategory::Modify));
                found.files.extend(files);
                found.unknown.extend(unknown);
            }
        }
        Ok(found)
    }

    fn placed(&self, mut file: RankedFile) -> RankedFile {
        file.path = self.place(&file.path);
        file
    }

    fn place(&self, name: &str) -> String {
        self.root.join(name).to_string_lossy().into_owned()
    }

    /// Runs a query on the updated project; a damaged index is rebuilt once. Blocks.
    pub fn with_project<T, E: std::fmt::Display>(
        &self,
        ask: impl Fn(&Project) -> Result<T, E>,
    ) -> Result<T, String> {
        match ask(&self.open()?) {
            Ok(answer) => Ok(answer),
            Err(_) => ask(&self.open()?).map_err(|error| error.to_string()),
        }
    }

    fn open(&self) -> Result<Project, String> {
        Project::open(&self.root, &self.state).map_err(|error| format!("the index can't be used: {error}"))
    }
}
