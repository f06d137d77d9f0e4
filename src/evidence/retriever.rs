//! One project's evidence for a session: opened in the background on first use, updated for each query.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::hints::ContextPacket;
use super::keywords::{self, Keyword};
use super::task_context::TaskContext;
use crate::rank::locate::Project;
use crate::rank::query::Query;
use parking_lot::Mutex;

/// A smaller project can be seen with a single LS.
const FEW_FILES: usize = 12;

pub type Hints = dyn Fn(&[String]) -> Vec<ContextPacket> + Send + Sync;

pub struct ContextRetriever {
    root: PathBuf,
    state: PathBuf,
    hints: Option<Box<Hints>>,
    asked: Mutex<Vec<Keyword>>,
}

impl ContextRetriever {
    /// `state` is the project's state folder. Opens nothing yet.
    pub fn new(root: &Path, state: &Path) -> Self {
        Self { root: root.to_owned(), state: state.to_owned(), hints: None, asked: Mutex::default() }
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
