//! One session as the agent holds it: the log on disk and the history in memory, always changed together and in this
//! order, so that what is sent can be rebuilt from what is written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::undo_stack::UndoStack;
use crate::base::clock;
use crate::config::models;
use crate::context::builder::Built;
use crate::context::compaction::batch::Batch;
use crate::context::history::manager::HistoryManager;
use crate::context::parts::FixedParts;
use crate::context::prefix::Prefix;
use crate::context::tokens::calibration::Calibration;
use crate::model::item::{Item, ItemId, Summary};
use crate::model::usage::Usage;
use crate::protocol::event::{EndReason, TurnEnd, WindowState};
use crate::session::log::{self, LogError, SessionLog};
use crate::session::record::{ItemRecord, Record, RequestRecord};

/// A size that is off by no more than this, in percent, is not shown as an estimate.
const EXACT_PERCENT: f64 = 2.5;

/// The open session.
pub struct Conversation {
    pub id: String,
    pub history: HistoryManager,
    pub calibration: Calibration,
    /// What was sent last; follows the log.
    pub prefix: Prefix,
    project_state: PathBuf,
    workspace: PathBuf,
    /// Opened at the first record: a session in which nothing was said leaves no file.
    pub(super) log: Option<SessionLog>,
    model_to_write: Option<Record>,
    pub(super) next_id: u64,
    pub(super) call_ids: HashSet<Arc<str>>,
    pub(super) turns: usize,
    /// Every todo list that was written and not taken back: one may be archived and yet the one at hand.
    pub(super) todo_lists: UndoStack<serde_json::Value>,
    /// When each round that stands was begun, in milliseconds since the Unix epoch; archived ones too.
    pub(super) begun: UndoStack<u64>,
    total: Usage,
    cost_usd: Option<f64>,
    last_request_ms: u64,
    pub(super) last_reported: Option<u64>,
    /// What the server evidently takes of a prompt, when it was seen to cut one.
    pub(super) taken_window: Option<u64>,
}

impl Conversation {
    /// An empty session.
    pub fn new(project_state: &Path, workspace: &Path) -> Self {
        Self {
            id: log::new_id(),
            history: HistoryManager::default(),
            calibration: Calibration::default(),
            prefix: Prefix::default(),
            project_state: project_state.to_owned(),
            workspace: workspace.to_owned(),
            log: None,
            model_to_write: None,
            next_id: 1,
            call_ids: HashSet::new(),
            turns: 0,
            todo_lists: UndoStack::default(),
            begun: UndoStack::default(),
            total: Usage::default(),
            cost_usd: Some(0.0),
            last_request_ms: 0,
            last_reported: None,
            taken_window: None,
        }
    }

    /// Takes up what an answered request cost.
    pub(super) fn take_request(&mut self, request: &RequestRecord) {
        self.last_request_ms = request.ms;
        self.last_reported = None;
        if let Some(usage) = &request.usage {
            self.add_usage(&request.model, usage);
            self.last_reported = Some(usage.total());
        }
    }

    /// Writes an item to the log and adds it to the history.
    ///
    /// # Errors
    /// When the log cannot be written; the history is then unchanged.
    pub fn record(&mut self, item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let item = Arc::new(item);
        let id = ItemId(self.next_id);
        let entry = crate::context::history::entry::Entry::new(id, Arc::clone(&item), None, 0);
        let ms = clock::now_ms();
        self.write(&Record::Item(ItemRecord {
            id,
            ms,
            tokens: entry.full_tokens(),
            item: Arc::clone(&item),
        }))?;
        self.next_id += 1;
        self.note_item(id, ms, &item);
        self.history.push(id, Arc::clone(&item), Some(entry.full_tokens()));
        Ok((id, item))
    }

    /// Sends a batch in another form from now on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn adopt(&mut self, batch: &Batch) -> Result<(), LogError> {
        let batch = self.history.with_texts(batch);
        if batch.items.is_empty() {
            return Ok(());
        }
        self.write(&Record::Forms {
            items: batch.items.clone(),
            form: batch.form,
            cause: batch.cause.to_string(),
            texts: batch.texts.clone(),
        })?;
        self.last_reported = None;
        self.history.adopt(&batch);
        Ok(())
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
        self.todo_lists.rewind(to);
        self.begun.rewind(to);
        self.last_reported = None;
        Ok(())
    }

    /// Makes the history what it was before the rewind (or revival) number `rewind`, counted from 0.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn revive(&mut self, rewind: u32) -> Result<(), LogError> {
        self.write(&Record::Revive { rewind })?;
        self.history.revive(rewind);
        self.todo_lists.revive(rewind);
        self.begun.revive(rewind);
        self.last_reported = None;
        Ok(())
    }

    /// Pins items, or releases them.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn pin(&mut self, items: &[ItemId], pinned: bool) -> Result<(), LogError> {
        self.write(&Record::Pin { items: items.to_vec(), pinned })?;
        for id in items {
            self.history.pin(*id, pinned);
        }
        Ok(())
    }

    /// Writes what is about to be sent: what of the fixed parts changed, and the account of the request, so that the log
    /// alone gives the same bytes again.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn send(&mut self, parts: &FixedParts, built: &Built) -> Result<(), LogError> {
        if let Some(frame) = parts.since(self.prefix.parts()) {
            self.write(&Record::Frame(frame))?;
        }
        let sent = self.prefix.sent_record(built);
        self.write(&Record::Sent(sent))
    }

    /// The todo list that stands.
    pub fn todos(&self) -> Option<serde_json::Value> {
        self.todo_lists.all().last().map(|(_, list)| list.clone())
    }

    /// When the round that begins with this item was begun, in milliseconds since the Unix epoch; `None` when it was taken
    /// back.
    pub fn begun_ms(&self, item: ItemId) -> Option<u64> {
        self.begun.all().iter().find(|(id, _)| *id == item).map(|(_, ms)| *ms)
    }

    /// The item that begins the last round that stands.
    pub fn last_round(&self) -> Option<ItemId> {
        self.begun.all().last().map(|(id, _)| *id)
    }

    /// How many rewinds and revivals there were.
    pub fn rewinds(&self) -> u32 {
        self.history.rewinds()
    }

    /// The youngest item's number, whether it still counts or not.
    pub fn last_item(&self) -> ItemId {
        ItemId(self.next_id - 1)
    }

    /// Takes up that a request was answered.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn answered(
        &mut self,
        model: &str,
        estimated: u64,
        counted: u64,
        usage: Option<Usage>,
    ) -> Result<(), LogError> {
        let request =
            RequestRecord { ms: clock::now_ms(), model: model.to_owned(), estimated, counted, usage };
        self.write(&Record::Request(request.clone()))?;
        self.history.count_request();
        self.take_request(&request);
        if let Some(usage) = &usage {
            let cut_to = self.calibration.report(estimated, counted, usage.input);
            self.note_report(cut_to);
        }
        Ok(())
    }

    /// What a report says beside the size: that the server must have cut the prompt. Then it tells nothing of how full the
    /// window is.
    pub(super) fn note_report(&mut self, cut_to: Option<u64>) {
        if let Some(window) = cut_to {
            self.taken_window = Some(window);
            self.last_reported = None;
        }
    }

    /// A session of which nothing is left leaves no file. Returns whether that was so.
    pub fn discard_if_empty(&mut self) -> bool {
        if self.turns > 0 || !self.history.entries().is_empty() {
            return false;
        }
        if let Some(log) = self.log.take() {
            let _ = std::fs::remove_file(log.path());
        }
        // The next log begins from nothing: it must say again what is sent.
        self.prefix = Prefix::default();
        true
    }

    /// Takes up that the turn ended. A text that went back to the user is not written: it left the history too.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn end_turn(&mut self, mut end: TurnEnd) -> Result<(), LogError> {
        if let EndReason::ProviderFailed { prompt_returned, .. }
        | EndReason::Failed { prompt_returned, .. }
        | EndReason::Interrupted { prompt_returned } = &mut end.reason
        {
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
            estimated: self.last_reported.is_none() && self.calibration.error_percent() > EXACT_PERCENT,
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
        let record = Record::Model { provider: provider.to_owned(), model: model.to_owned() };
        if self.log.is_none() {
            // Nothing was said yet: it waits for the file.
            self.model_to_write = Some(record);
            return Ok(());
        }
        self.write(&record)
    }

    pub(super) fn add_usage(&mut self, model: &str, usage: &Usage) {
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
        let log = match &mut self.log {
            Some(log) => log,
            none => none.insert(SessionLog::create(&self.project_state, &self.id, &self.workspace)?),
        };
        if let Some(model) = self.model_to_write.take() {
            log.append(&model)?;
        }
        log.append(record)?;
        self.prefix.apply(record);
        Ok(())
    }
}
