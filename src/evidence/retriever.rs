//! One project's evidence for a whole session: opened in the background on first need, brought up to date for each
//! question, and asked with a time limit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::categorize::Role;
use super::hints::HintSource;
use super::keywords::{self, Keyword};
use super::task_context::TaskContext;
use crate::rank::locate::{Project, RankedFile};
use crate::rank::query::Query;

/// A project with no more files than this is seen with one LS.
const FEW_FILES: usize = 12;

/// The evidence of one project.
pub struct ContextRetriever {
    root: PathBuf,
    state: PathBuf,
    sources: Vec<Arc<dyn HintSource>>,
    /// Keywords of the task at hand.
    asked: Mutex<Vec<Keyword>>,
}

impl ContextRetriever {
    /// For the project at `root`; `state` is its state folder. Opens nothing yet.
    pub fn new(root: &Path, state: &Path) -> Self {
        Self { root: root.to_owned(), state: state.to_owned(), sources: Vec::new(), asked: Mutex::default() }
    }

    /// Also asks this source for hints.
    #[must_use]
    pub fn with_hints(mut self, source: Arc<dyn HintSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Builds or updates the index. Blocking; meant for a background thread.
    pub fn warm(&self) {
        // Whoever asks next hears what is wrong.
        let _ = self.open();
    }

    /// The `limit` files that fit `text` best. Blocking.
    pub fn locate(&self, text: &str, limit: usize) -> Result<Vec<(RankedFile, Role)>, String> {
        self.with_project(|project| project.locate(text, limit))
    }

    /// The `limit` files that belong to these paths, and which paths are not known. Blocking.
    pub fn companions(
        &self,
        paths: &[String],
        text: &str,
        limit: usize,
    ) -> Result<(Vec<RankedFile>, Vec<String>), String> {
        self.with_project(|project| project.companions(paths, text, limit))
    }

    /// Whether `text` begins a task, and does not only go on with the one at hand.
    pub fn is_new_task(&self, text: &str) -> bool {
        let now = keywords::extract(&Query::parse(text));
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        keywords::is_new_task(&asked, &now)
    }

    /// Makes `text` the task at hand.
    pub fn remember(&self, text: &str) {
        let now = keywords::extract(&Query::parse(text));
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The context of a task, when there is one worth showing. Blocking.
    pub fn task_context(&self, text: &str) -> Option<TaskContext> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let sources: Vec<&dyn HintSource> = self.sources.iter().map(AsRef::as_ref).collect();
        let context = self
            .with_project(|project| {
                if project.index.files().nth(FEW_FILES).is_none() {
                    return Ok(TaskContext::default());
                }
                TaskContext::gather(project, text, &sources, seconds)
            })
            .ok()?;
        (!context.is_empty()).then_some(context)
    }

    /// Asks the project, brought up to date; a damaged index is rebuilt once. Blocking.
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
