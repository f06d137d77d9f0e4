//! One project's evidence for a session: opened in the background on first use, updated for each query.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::hints::ContextPacket;
use super::keywords::{self, Keyword};
use super::task_context::TaskContext;
use crate::categorize::FileCategory;
use crate::rank::locate::{Project, RankedFile};
use crate::rank::query::Query;
use base::file;
use parking_lot::Mutex;

/// A smaller project can be seen with a single LS.
const FEW_FILES: usize = 12;

pub type Hints = dyn Fn(&[String]) -> Vec<ContextPacket> + Send + Sync;

pub struct ContextRetriever {
    root: PathBuf,
    state: PathBuf,
    hints: Option<Box<Hints>>,
    /// Of the folders that the user added, each with an index of its own.
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
        Self { others: folders.iter().map(other).collect(), ..self }
    }

    #[must_use]
    pub fn with_hints(self, hints: Box<Hints>) -> Self {
        Self { hints: Some(hints), ..self }
    }

    /// Builds or updates the index. Blocks; for a background thread.
    pub fn warm(&self) {
        // The next query reports any error.
        let _ = self.open();
    }

    /// Whether `text` starts a new task rather than continuing the current one.
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
        let context = self
            .with_project(|project| {
                if project.index.files().nth(FEW_FILES).is_none() {
                    return Ok(TaskContext::default());
                }
                TaskContext::gather(project, text, &hints, seconds)
            })
            .ok()?;
        (!context.is_empty()).then_some(context)
    }

    /// The best files for `text`; those of added folders, as far as they can be searched, by absolute paths. Blocks.
    pub fn locate(&self, text: &str, limit: usize) -> Result<Vec<(RankedFile, FileCategory)>, String> {
        let mut files = self.with_project(|project| project.locate(text, limit))?;
        for other in &self.others {
            let found = other.with_project(|project| project.locate(text, limit)).unwrap_or_default();
            files.extend(found.into_iter().map(|(mut file, role)| {
                file.path = other.root.join(&file.path).to_string_lossy().into_owned();
                (file, role)
            }));
        }
        files.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        files.truncate(limit);
        Ok(files)
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
