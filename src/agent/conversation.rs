//! One session as the agent holds it: the log on disk and the history in memory, always changed together and in this
//! order, so that what is sent can be rebuilt from what is written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::clock;
use crate::config::models;
use crate::context::budget::tokens::Calibration;
use crate::context::history::batch::Batch;
use crate::context::history::manager::HistoryManager;
use crate::context::history::normalize::LOST_RESULT;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::model::item::{Item, ItemId, Summary, ToolResult};
use crate::model::usage::Usage;
use crate::protocol::event::{EndReason, TurnEnd, WindowState};
use crate::session::log::{self, LogError, SessionLog};
use crate::session::reader;
use crate::session::record::{ItemRecord, Record, RequestRecord};

/// The open session.
pub struct Conversation {
    pub id: String,
    pub history: HistoryManager,
    pub calibration: Calibration,
    project_state: PathBuf,
    workspace: PathBuf,
    /// Opened at the first record: a session in which nothing was said leaves no file.
    log: Option<SessionLog>,
    next_id: u64,
    call_ids: HashSet<Arc<str>>,
    turns: usize,
    total: Usage,
    cost_usd: Option<f64>,
    last_request_ms: u64,
    last_reported: Option<u64>,
    /// What the server evidently takes of a prompt, when it was seen to cut one.
    taken_window: Option<u64>,
}

/// A session that was read from disk.
pub struct Restored {
    pub conversation: Conversation,
    /// The last todo list, as TodoWrite recorded it.
    pub todos: Option<serde_json::Value>,
    pub notices: Vec<String>,
}

impl Conversation {
    /// An empty session.
    pub fn new(project_state: &Path, workspace: &Path) -> Self {
        Self {
            id: log::new_id(),
            history: HistoryManager::default(),
            calibration: Calibration::default(),
            project_state: project_state.to_owned(),
            workspace: workspace.to_owned(),
            log: None,
            next_id: 1,
            call_ids: HashSet::new(),
            turns: 0,
            total: Usage::default(),
            cost_usd: Some(0.0),
            last_request_ms: 0,
            last_reported: None,
            taken_window: None,
        }
    }

    /// Rebuilds a session from its log. Calls that never got a result get one now, in the log too.
    ///
    /// # Errors
    /// When the log cannot be read or another process has it open.
    pub fn restore(project_state: &Path, workspace: &Path, path: &Path) -> Result<Restored, LogError> {
        let opened = SessionLog::open(path)?;
        let read = reader::read(path).map_err(|source| LogError::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        let mut conversation = Self::new(project_state, workspace);
        conversation.id = opened.id().to_owned();
        conversation.log = Some(opened);
        let mut todos = None;
        let mut notices = Vec::new();
        for record in read.records {
            match record {
                Record::Meta(_) | Record::Model { .. } => {}
                Record::Item(record) => conversation.take_item(record, &mut todos),
                Record::Forms { items, form, texts, .. } => {
                    conversation.history.set_form(&items, form, &texts);
                }
                Record::Archive { before, id, summary, .. } => {
                    let id = id.unwrap_or(ItemId(conversation.next_id));
                    conversation.next_id = conversation.next_id.max(id.0 + 1);
                    conversation.history.archive(before, id, summary);
                }
                Record::Unarchive {} => conversation.history.unarchive(),
                Record::Beside { model, usage, .. } => conversation.add_usage(&model, &usage),
                Record::Rewind { to } => conversation.history.rewind(to),
                Record::Request(request) => conversation.take_request(&request),
                Record::TurnEnd { .. } => {
                    conversation.turns += 1;
                    conversation.history.end_turn();
                }
            }
        }
        if read.skipped > 0 {
            notices.push(format!(
                "{} of the session log could not be read and {} left out; the rest is complete.",
                crate::base::text::plural(read.skipped, "line"),
                if read.skipped == 1 { "was" } else { "were" }
            ));
        }
        conversation.close_open_calls()?;
        conversation.history.end_turn();
        Ok(Restored { conversation, todos, notices })
    }

    fn take_item(&mut self, record: ItemRecord, todos: &mut Option<serde_json::Value>) {
        // A damaged log may repeat or reorder numbers; ids must ascend.
        if record.id.0 < self.next_id && self.history.entries().iter().any(|entry| entry.id >= record.id) {
            return;
        }
        self.next_id = self.next_id.max(record.id.0 + 1);
        match &*record.item {
            Item::ToolCall(call) => {
                self.call_ids.insert(Arc::clone(&call.id));
            }
            Item::ToolResult(result) if &*result.tool == "TodoWrite" => {
                if let Some(list) = result.envelope.data.get("todos") {
                    *todos = Some(list.clone());
                }
            }
            _ => {}
        }
        self.history.push(record.id, record.item, Some(record.tokens));
    }

    fn take_request(&mut self, request: &RequestRecord) {
        self.history.count_request();
        self.last_request_ms = request.ms;
        if let Some(usage) = &request.usage {
            self.add_usage(&request.model, usage);
            match self.calibration.report(request.estimated, usage.input) {
                // Says nothing of the tokenizer, nor of how full the window is.
                Some(window) => {
                    self.taken_window = Some(window);
                    self.last_reported = None;
                }
                None => self.last_reported = Some(usage.input + usage.output),
            }
        }
    }

    fn close_open_calls(&mut self) -> Result<(), LogError> {
        for call_id in self.history.open_calls() {
            let message = LOST_RESULT.split_once(": ").map_or(LOST_RESULT, |(_, message)| message);
            let called = self.history.entries().iter().find_map(|entry| match &*entry.item {
                Item::ToolCall(call) if call.id == call_id => Some(Arc::clone(&call.name)),
                _ => None,
            });
            self.record(Item::ToolResult(ToolResult {
                call_id,
                tool: called.unwrap_or_else(|| "unknown".into()),
                envelope: Envelope::error(ErrorCode::Interrupted, message),
            }))?;
        }
        Ok(())
    }

    /// Writes an item to the log and adds it to the history.
    ///
    /// # Errors
    /// When the log cannot be written; the history is then unchanged.
    pub fn record(&mut self, item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let item = Arc::new(item);
        let id = ItemId(self.next_id);
        let entry = crate::context::history::entry::Entry::new(id, Arc::clone(&item), None, 0);
        self.write(&Record::Item(ItemRecord {
            id,
            ms: clock::now_ms(),
            tokens: entry.full_tokens(),
            item: Arc::clone(&item),
        }))?;
        self.next_id += 1;
        if let Item::ToolCall(call) = &*item {
            self.call_ids.insert(Arc::clone(&call.id));
        }
        self.history.push(id, Arc::clone(&item), Some(entry.full_tokens()));
        Ok((id, item))
    }

    /// Sends a batch in another form from now on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn adopt(&mut self, batch: &Batch) -> Result<u64, LogError> {
        self.write(&Record::Forms {
            items: batch.items.clone(),
            form: batch.form,
            cause: batch.cause.to_owned(),
            texts: batch.texts.clone(),
        })?;
        self.last_reported = None;
        Ok(self.history.adopt(batch))
    }

    /// Replaces everything before `before` by the summary.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn archive(&mut self, before: ItemId, summary: Summary, cause: &str) -> Result<(), LogError> {
        let id = ItemId(self.next_id);
        let record =
            Record::Archive { before, id: Some(id), summary: summary.clone(), cause: cause.to_owned() };
        self.write(&record)?;
        self.next_id += 1;
        self.history.archive(before, id, summary);
        self.last_reported = None;
        Ok(())
    }

    /// Takes the last archive back.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn unarchive(&mut self) -> Result<(), LogError> {
        self.write(&Record::Unarchive {})?;
        self.history.unarchive();
        self.last_reported = None;
        Ok(())
    }

    /// Takes up what was spent beside the session's own requests.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn spent_beside(&mut self, model: &str, usage: &Usage) -> Result<(), LogError> {
        self.write(&Record::Beside { ms: clock::now_ms(), model: model.to_owned(), usage: *usage })?;
        self.add_usage(model, usage);
        Ok(())
    }

    /// Takes back everything from `to` on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn rewind(&mut self, to: ItemId) -> Result<(), LogError> {
        self.write(&Record::Rewind { to })?;
        self.history.rewind(to);
        Ok(())
    }

    /// Takes up that a request was answered.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn answered(&mut self, model: &str, estimated: u64, usage: Option<Usage>) -> Result<(), LogError> {
        let request = RequestRecord { ms: clock::now_ms(), model: model.to_owned(), estimated, usage };
        self.write(&Record::Request(request.clone()))?;
        self.take_request(&request);
        if usage.is_none() {
            self.last_reported = None;
        }
        Ok(())
    }

    /// A session of which nothing is left leaves no file. Returns whether that was so.
    pub fn discard_if_empty(&mut self) -> bool {
        if self.turns > 0 || !self.history.entries().is_empty() {
            return false;
        }
        if let Some(log) = self.log.take() {
            let _ = std::fs::remove_file(log.path());
        }
        true
    }

    /// Takes up that the turn ended. A text that went back to the person is not written: it left the history too.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn end_turn(&mut self, mut end: TurnEnd) -> Result<(), LogError> {
        if let EndReason::ProviderFailed { prompt_returned, .. } = &mut end.reason {
            *prompt_returned = None;
        }
        self.history.end_turn();
        self.turns += 1;
        self.write(&Record::TurnEnd { ms: clock::now_ms(), end })
    }

    /// An id for a new call: the model's own unless this session has it already.
    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>]) -> Arc<str> {
        let used = |id: &Arc<str>| self.call_ids.contains(id) || taken.contains(id);
        if !used(wanted) && !wanted.is_empty() {
            return Arc::clone(wanted);
        }
        let mut number = self.next_id + taken.len() as u64;
        loop {
            let id: Arc<str> = format!("call_{number}").into();
            if !used(&id) {
                return id;
            }
            number += 1;
        }
    }

    /// How full the window is. `estimated` is the size of the last request built.
    pub fn window(&self, estimated: u64, window_tokens: u64) -> WindowState {
        WindowState {
            used_tokens: self.last_reported.unwrap_or_else(|| self.calibration.apply(estimated)),
            window_tokens,
            estimated: self.last_reported.is_none(),
            total: self.total,
            // Without reported usage nothing is known of the cost, not even that it is zero.
            cost_usd: self.cost_usd.filter(|_| self.total != Usage::default()),
        }
    }

    /// The window that a server which silently cuts prompts evidently has; asks once.
    pub fn take_truncation(&mut self) -> Option<u64> {
        self.taken_window.take()
    }

    pub fn turns(&self) -> usize {
        self.turns
    }

    pub fn total(&self) -> Usage {
        self.total
    }

    /// Where the log is (or will be).
    pub fn log_path(&self) -> PathBuf {
        log::path_of(&self.project_state, &self.id)
    }

    /// Milliseconds since the last request; huge before the first.
    pub fn idle_ms(&self) -> u64 {
        clock::now_ms().saturating_sub(self.last_request_ms)
    }

    /// Writes which model answers from here on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn note_model(&mut self, provider: &str, model: &str) -> Result<(), LogError> {
        if self.log.is_none() {
            return Ok(());
        }
        self.write(&Record::Model { provider: provider.to_owned(), model: model.to_owned() })
    }

    fn add_usage(&mut self, model: &str, usage: &Usage) {
        self.total.add(usage);
        let price = models::facts(model).and_then(|facts| facts.price);
        self.cost_usd = match (self.cost_usd, price) {
            (Some(cost), Some((input, cached, output))) => {
                let fresh = usage.input.saturating_sub(usage.cached) as f64;
                Some(
                    cost + (fresh * input + usage.cached as f64 * cached + usage.output as f64 * output)
                        / 1e6,
                )
            }
            _ => None,
        };
    }

    fn write(&mut self, record: &Record) -> Result<(), LogError> {
        if self.log.is_none() {
            self.log = Some(SessionLog::create(&self.project_state, &self.id, &self.workspace)?);
        }
        match &mut self.log {
            Some(log) => log.append(record),
            None => Ok(()),
        }
    }
}
