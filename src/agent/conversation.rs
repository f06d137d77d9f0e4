//! One session as the agent holds it: the log on disk and the history in memory, always changed together and in this
//! order, so that what is sent can be rebuilt from what is written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::clock;
use crate::config::models;
use crate::context::budget::tokens::Calibration;
use crate::context::history::batch::Batch;
use crate::context::history::entry::Entry;
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
    voided: Vec<Voided>,
}

/// What a rewind or a revival took out of the history: everything from `to` on.
struct Voided {
    to: ItemId,
    entries: Vec<Entry>,
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
            voided: Vec::new(),
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
                Record::Archive { before, summary, .. } => {
                    let id = conversation.take_id();
                    conversation.history.archive(before, id, summary);
                }
                Record::Rewind { to } => conversation.take_back(to),
                Record::Revive { rewind } => conversation.bring_back(rewind),
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
            self.calibration.learn(request.estimated, usage.input);
            self.last_reported = Some(usage.input + usage.output);
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
        let entry = Entry::new(id, Arc::clone(&item), None, 0);
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
        self.write(&Record::Archive { before, summary: summary.clone(), cause: cause.to_owned() })?;
        let id = self.take_id();
        self.history.archive(before, id, summary);
        self.last_reported = None;
        Ok(())
    }

    /// Takes back everything from `to` on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn rewind(&mut self, to: ItemId) -> Result<(), LogError> {
        self.write(&Record::Rewind { to })?;
        self.take_back(to);
        Ok(())
    }

    fn take_back(&mut self, to: ItemId) {
        let entries = self.history.rewind(to);
        self.voided.push(Voided { to, entries });
        self.last_reported = None;
    }

    /// Makes the history what it was before the rewind (or revival) number `rewind`, counted from 0.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn revive(&mut self, rewind: u32) -> Result<(), LogError> {
        self.write(&Record::Revive { rewind })?;
        self.bring_back(rewind);
        Ok(())
    }

    fn bring_back(&mut self, rewind: u32) {
        let first = (rewind as usize).min(self.voided.len());
        let Some(to) = self.voided[first..].iter().map(|voided| voided.to).min() else { return };
        let gone: Vec<Entry> =
            self.history.entries().iter().filter(|entry| entry.id >= to).cloned().collect();
        // One after another, the youngest first: each gives back the history that the one before it left.
        for index in (first..self.voided.len()).rev() {
            let Voided { to, entries } = &self.voided[index];
            self.history.bring_back(*to, entries.clone());
        }
        let entries = gone.into_iter().filter(|entry| !matches!(&*entry.item, Item::Summary(_))).collect();
        self.voided.push(Voided { to, entries });
        self.last_reported = None;
    }

    /// The todo list as the history tells it.
    pub fn todos(&self) -> Option<serde_json::Value> {
        self.history.entries().iter().rev().find_map(|entry| match &*entry.item {
            Item::ToolResult(result) if &*result.tool == "TodoWrite" => {
                result.envelope.data.get("todos").cloned()
            }
            _ => None,
        })
    }

    /// How many rewinds and revivals there were.
    pub fn rewinds(&self) -> u32 {
        u32::try_from(self.voided.len()).unwrap_or(u32::MAX)
    }

    /// The youngest item's number, whether it still counts or not.
    pub fn last_item(&self) -> ItemId {
        ItemId(self.next_id - 1)
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

    fn take_id(&mut self) -> ItemId {
        self.next_id += 1;
        ItemId(self.next_id - 1)
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
