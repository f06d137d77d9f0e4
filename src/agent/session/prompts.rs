//! The prompt history across all projects, the composer's draft, and what the user saves with `#`. All are redacted.
//! Uses the disk only on the blocking pool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::control::{Events, Questions, answer, notice};
use base::process::task;
use base::protocol::approval::{Answer, AskedQuestion, Question};
use base::protocol::event::{Event, Level, PastPrompt};
use base::protocol::notice as texts;
use base::{clock, path};
use context::rules::rules_file;
use context::session::prompts::{self, Drafts};
use evidence::note::store::{NoteChange, NoteStore};
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
        task::detached(move || prompts::append(&path, &prompt));
    }

    pub fn redacted(&self, text: &str) -> String {
        self.redactor.redact_typed(text).into_owned()
    }

    pub fn keep(&self, text: &str, questions: &Arc<Questions>, events: &Events) {
        keep(self.redacted(text), self.folder.clone(), Arc::clone(questions), events.clone());
    }

    pub fn list(&self, events: &Events) {
        let path = self.history.clone();
        answer(events, move || Event::Prompts(prompts::read(&path).into()));
    }

    pub fn save_draft(&self, text: &str) {
        self.drafts.set(self.redacted(text));
        let drafts = Arc::clone(&self.drafts);
        task::detached(move || drafts.write());
    }

    /// Sends the draft left by a process that has ended.
    pub fn restore_draft(&self, events: &Events) {
        let (drafts, events) = (Arc::clone(&self.drafts), events.clone());
        task::detached(move || {
            if let Some(text) = drafts.take() {
                let _ = events.send(Event::Draft { text });
            }
        });
    }

    /// Waits until the last draft is on disk.
    pub async fn settle(&self) {
        let drafts = Arc::clone(&self.drafts);
        let _ = task::blocking(move || drafts.write()).await;
    }
}

const NOTE: &str = "A note in .mycode/notes";

/// Asks where to save `#text` (project rules or a note) and saves it there. Esc returns the text.
fn keep(text: String, workspace: PathBuf, questions: Arc<Questions>, events: Events) {
    task::spawn(async move {
        let folder = workspace.clone();
        let first = task::blocking(move || rules_file::candidates(&folder).into_iter().next()).await.ok();
        let file = first.flatten().unwrap_or_else(|| workspace.join(rules_file::NEW_NAME));
        let rule = format!("A rule in {}, sent with every session", path::display(&workspace, &file));
        let question = AskedQuestion {
            question: format!("Keep \"{text}\"? (With a space before # it is sent as a message.)"),
            options: vec![rule.clone(), NOTE.to_owned()],
            optional: false,
        };
        let asked = Question::Ask { questions: vec![question] };
        let reply = match questions.ask(asked, &CancellationToken::new()).await {
            Some(Answer::Replies { replies }) => replies.into_iter().next(),
            _ => None,
        };
        let (kept, to_note) = (text.clone(), reply.as_deref() == Some(NOTE));
        if !to_note && reply.as_ref() != Some(&rule) {
            // What was typed instead of a choice isn't lost either.
            let texts = std::iter::once(format!("#{text}")).chain(reply).collect();
            let _ = events.send(Event::TakenBack { texts });
            return;
        }
        let written = task::blocking(move || match to_note {
            true => {
                let change = NoteChange { content: Some(kept), ..NoteChange::default() };
                NoteStore::new(&workspace).create(change).map(|note| note.path()).map_err(|e| e.to_string())
            }
            false => {
                rules_file::add_rule(&file, &workspace, &kept).map(|()| path::display(&workspace, &file))
            }
        });
        match written.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(place) => notice(&events, Level::Info, texts::kept_in(&place)),
            Err(why) => {
                notice(&events, Level::Warning, texts::not_kept(&why));
                let _ = events.send(Event::TakenBack { texts: vec![format!("#{text}")] });
            }
        }
    });
}
