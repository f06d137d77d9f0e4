//! The prompt history across all projects, and the composer's draft. Both are redacted. The disk is used only
//! on the blocking pool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::control::{Events, Questions};
use crate::memo;
use base::clock;
use base::protocol::event::{Event, PastPrompt};
use context::session::prompts::{self, Drafts};
use guard::redact::redactor::Redactor;

pub struct Prompts {
    history: PathBuf,
    drafts: Arc<Drafts>,
    folder: PathBuf,
    redactor: Arc<Redactor>,
}

impl Prompts {
    pub fn new(history: PathBuf, project_state: &Path, workspace: &Path, redactor: Arc<Redactor>) -> Self {
        let folder = workspace.to_owned();
        Self { history, drafts: Arc::new(Drafts::new(project_state)), folder, redactor }
    }

    /// Adds a prompt to the history; a failed write is ignored.
    pub fn remember(&self, text: &str) {
        let text = self.redacted(text);
        let prompt =
            PastPrompt { at_ms: clock::now_ms(), folder: self.folder.to_string_lossy().into_owned(), text };
        let path = self.history.clone();
        tokio::task::spawn_blocking(move || prompts::append(&path, &prompt));
    }

    pub fn redacted(&self, text: &str) -> String {
        self.redactor.redact_typed(text).into_owned()
    }

    pub fn keep(&self, text: &str, questions: &Arc<Questions>, events: &Events) {
        memo::keep(self.redacted(text), self.folder.clone(), Arc::clone(questions), events.clone());
    }

    pub fn list(&self, events: &Events) {
        let (path, events) = (self.history.clone(), events.clone());
        tokio::task::spawn_blocking(move || {
            let _ = events.send(Event::Prompts(prompts::read(&path).into()));
        });
    }

    pub fn save_draft(&self, text: &str) {
        self.drafts.set(self.redacted(text));
        let drafts = Arc::clone(&self.drafts);
        tokio::task::spawn_blocking(move || drafts.write());
    }

    /// Sends the draft left by a process that has ended.
    pub fn restore_draft(&self, events: &Events) {
        let (drafts, events) = (Arc::clone(&self.drafts), events.clone());
        tokio::task::spawn_blocking(move || {
            if let Some(text) = drafts.take() {
                let _ = events.send(Event::Draft { text });
            }
        });
    }

    /// Waits until the last draft is on disk.
    pub async fn settle(&self) {
        let drafts = Arc::clone(&self.drafts);
        let _ = tokio::task::spawn_blocking(move || drafts.write()).await;
    }
}
