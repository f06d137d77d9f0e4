//! One session as the agent holds it: the log on disk and the history in memory, always changed together and in this
//! order, so that what is sent can be rebuilt from what is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::item_facts::ItemFacts;
use super::usage::{LONG_CACHE_MS, UsageMeter};
use base::clock;
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Message;
use base::model::usage::Usage;
use base::protocol::event::{EndReason, TurnEnd};
use context::builder::Built;
use context::compaction::batch::Batch;
use context::history::entry::Entry;
use context::history::manager::HistoryManager;
use context::parts::FixedParts;
use context::prefix::Prefix;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::{FormName, ItemRecord, ParentCall, Record, RequestRecord};

/// The open session.
pub struct Conversation {
    pub id: String,
    pub history: HistoryManager,
    pub usage: UsageMeter,
    pub facts: ItemFacts,
    /// What was sent last; follows the log.
    pub prefix: Prefix,
    /// What it works for, if it is a sub-agent's.
    pub parent: Option<ParentCall>,
    project_state: PathBuf,
    workspace: PathBuf,
    /// Opened at the first record: a session in which nothing was said leaves no file.
    log: Option<SessionLog>,
    /// Provider and model that the user chose with `/model`.
    chosen_model: Option<(String, String)>,
    /// The choice is not in the log yet: it waits for the file.
    model_unwritten: bool,
    next_id: u64,
    turns: usize,
}

/// What a session's log tells of it.
#[derive(Default)]
pub struct ResumedState {
    pub history: HistoryManager,
    pub prefix: Prefix,
    pub usage: UsageMeter,
    pub facts: ItemFacts,
    pub chosen_model: Option<(String, String)>,
    pub next_id: u64,
    pub turns: usize,
}

impl Conversation {
    /// An empty session.
    pub fn new(project_state: &Path, workspace: &Path) -> Self {
        Self {
            id: log::new_id(),
            history: HistoryManager::default(),
            usage: UsageMeter::default(),
            facts: ItemFacts::default(),
            prefix: Prefix::default(),
            parent: None,
            project_state: project_state.to_owned(),
            workspace: workspace.to_owned(),
            log: None,
            chosen_model: None,
            model_unwritten: false,
            next_id: 1,
            turns: 0,
        }
    }

    /// A session as its log tells it.
    pub fn resumed(project_state: &Path, workspace: &Path, log: SessionLog, state: ResumedState) -> Self {
        let ResumedState { history, prefix, usage, facts, chosen_model, next_id, turns } = state;
        Self {
            id: log.id().to_owned(),
            log: Some(log),
            history,
            prefix,
            usage,
            facts,
            chosen_model,
            next_id,
            turns,
            ..Self::new(project_state, workspace)
        }
    }

    /// Writes an item to the log and adds it to the history.
    pub fn record(&mut self, item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let item = Arc::new(item);
        let id = ItemId(self.next_id);
        let tokens = Entry::new(id, Arc::clone(&item), None, 0).full_tokens();
        let ms = clock::now_ms();
        self.write(&Record::Item(ItemRecord { id, ms, tokens, item: Arc::clone(&item) }))?;
        self.next_id += 1;
        self.facts.add(id, ms, &item);
        self.history.push(id, Arc::clone(&item), Some(tokens));
        Ok((id, item))
    }

    /// Sends a batch in another form from now on.
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
        self.usage.forget_report();
        self.history.adopt(&batch);
        Ok(())
    }

    /// A turn that ended without a reply to a reminder of the program's: servers want one between it and what the user says
    /// next.
    pub fn close_unanswered(&mut self) -> Result<(), LogError> {
        let last = self.history.entries().iter().rev().find(|entry| entry.message().is_some());
        if last.is_some_and(|entry| matches!(entry.message(), Some(Message::System(_)))) {
            self.record(Item::assistant("[interrupted]"))?;
        }
        Ok(())
    }

    /// Sends these items no more.
    pub fn leave_out(&mut self, items: Vec<ItemId>, cause: &'static str) -> Result<(), LogError> {
        self.adopt(&Batch::plain(items, FormName::Gone, cause))
    }

    /// Replaces everything before `before` by the summary.
    pub fn archive(&mut self, before: ItemId, summary: Summary, cause: &str) -> Result<(), LogError> {
        let id = ItemId(self.next_id);
        let record =
            Record::Archive { before, id: Some(id), summary: summary.clone(), cause: cause.to_owned() };
        self.write(&record)?;
        self.next_id += 1;
        self.history.archive(before, id, summary);
        self.usage.forget_report();
        Ok(())
    }

    /// Undoes the last archive.
    pub fn unarchive(&mut self) -> Result<(), LogError> {
        self.write(&Record::Unarchive {})?;
        self.history.unarchive();
        self.usage.forget_report();
        Ok(())
    }

    /// Adds what was spent beside the session's own requests.
    pub fn add_side_usage(&mut self, model: &str, usage: &Usage) -> Result<(), LogError> {
        self.write(&Record::Beside { ms: clock::now_ms(), model: model.to_owned(), usage: *usage })?;
        self.usage.add(model, usage);
        Ok(())
    }

    /// Takes back everything from `to` on.
    pub fn rewind(&mut self, to: ItemId) -> Result<(), LogError> {
        self.write(&Record::Rewind { to })?;
        self.history.rewind(to);
        self.facts.rewind(to);
        self.usage.forget_report();
        Ok(())
    }

    /// Makes the history what it was before the rewind (or revive) number `rewind`, counted from 0.
    pub fn revive(&mut self, rewind: u32) -> Result<(), LogError> {
        self.write(&Record::Revive { rewind })?;
        self.history.revive(rewind);
        self.facts.revive(rewind);
        self.usage.forget_report();
        Ok(())
    }

    /// Pins items, or releases them.
    pub fn pin(&mut self, items: &[ItemId], pinned: bool) -> Result<(), LogError> {
        self.write(&Record::Pin { items: items.to_vec(), pinned })?;
        for id in items {
            self.history.pin(*id, pinned);
        }
        Ok(())
    }

    /// Writes what is about to be sent: what of the fixed parts changed, and the account of the request, so that the log
    /// alone gives the same bytes again. `cold` says that the prompt cache has run out.
    pub fn record_request(&mut self, parts: &FixedParts, built: &Built, cold: bool) -> Result<(), LogError> {
        if let Some(frame) = parts.since(self.prefix.parts()) {
            self.write(&Record::Frame(frame))?;
        }
        let sent = self.prefix.sent_record(built, cold);
        self.write(&Record::Sent(sent))
    }

    /// Writes that a request of this estimated size was answered.
    pub fn record_usage(
        &mut self,
        model: &str,
        estimated: u64,
        usage: Option<Usage>,
    ) -> Result<(), LogError> {
        let request = RequestRecord { ms: clock::now_ms(), model: model.to_owned(), estimated, usage };
        self.write(&Record::Request(request.clone()))?;
        self.history.count_request();
        self.usage.add_request(&request);
        if let Some(usage) = &usage {
            let cut_to = self.usage.calibration.report(estimated, usage.input);
            self.usage.set_truncation(cut_to);
        }
        Ok(())
    }

    /// Writes that the turn ended. A text that went back to the user is not written: it left the history too.
    pub fn end_turn(&mut self, mut end: TurnEnd) -> Result<(), LogError> {
        if let EndReason::ProviderFailed { prompt_returned, .. }
        | EndReason::Failed { prompt_returned, .. }
        | EndReason::Interrupted { prompt_returned } = &mut end.reason
        {
            *prompt_returned = None;
        }
        self.history.end_turn();
        self.turns += 1;
        self.write(&Record::TurnEnd { ms: clock::now_ms(), end, turn: self.turns })
    }

    /// Removes the log of a session of which nothing is left; the next message begins one from nothing. Returns whether
    /// that was so.
    pub fn discard_if_empty(&mut self) -> bool {
        if self.turns > 0 || !self.history.entries().is_empty() {
            return false;
        }
        if let Some(log) = self.log.take() {
            let _ = std::fs::remove_file(log.path());
        }
        // Nothing that was counted by the removed log may reach the next one. What was paid and what was learned of
        // the server stay, and so does the user's choice of a model.
        let fresh = Self::new(&self.project_state, &self.workspace);
        let old = std::mem::replace(self, fresh);
        (self.id, self.usage) = (old.id, old.usage);
        self.model_unwritten = old.chosen_model.is_some();
        self.chosen_model = old.chosen_model;
        true
    }

    /// Writes which model answers from here on.
    pub fn choose_model(&mut self, provider: &str, model: &str) -> Result<(), LogError> {
        self.chosen_model = Some((provider.to_owned(), model.to_owned()));
        self.model_unwritten = true;
        // Before anything was said it waits for the file.
        if self.log.is_some() { self.write_model() } else { Ok(()) }
    }

    fn write_model(&mut self) -> Result<(), LogError> {
        let (Some(log), Some((provider, model))) = (&mut self.log, &self.chosen_model) else { return Ok(()) };
        if std::mem::take(&mut self.model_unwritten) {
            log.append(&Record::Model { provider: provider.clone(), model: model.clone() })?;
        }
        Ok(())
    }

    /// Provider and model that the user chose in this session.
    pub fn chosen_model(&self) -> Option<&(String, String)> {
        self.chosen_model.as_ref()
    }

    /// An id for a new call: the model's own unless this session or the same reply (`taken`) has it already.
    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>]) -> Arc<str> {
        self.facts.unique_call_id(wanted, taken, self.next_id)
    }

    /// How long the prompt cache lives that the last request asked for, in milliseconds; `usual` without asking.
    pub fn cache_ms(&self, usual: u64) -> u64 {
        if self.prefix.parts().params.long_cache { LONG_CACHE_MS } else { usual }
    }

    /// Messages of the running turn that are not sent whole.
    pub fn cut_messages(&self) -> usize {
        let running = &self.history.entries()[self.history.turn_start()..];
        let cut = |entry: &&Entry| matches!(&*entry.item, Item::User(_)) && entry.form() != FormName::Full;
        running.iter().filter(cut).count()
    }

    /// The youngest item's number, whether it still counts or not.
    pub fn last_item(&self) -> ItemId {
        ItemId(self.next_id - 1)
    }

    pub fn turns(&self) -> usize {
        self.turns
    }

    /// Where the log is (or will be).
    pub fn log_path(&self) -> PathBuf {
        log::path_of(&self.project_state, &self.id)
    }

    fn write(&mut self, record: &Record) -> Result<(), LogError> {
        if self.log.is_none() {
            self.log = Some(SessionLog::create(
                &self.project_state,
                &self.id,
                &self.workspace,
                self.parent.clone(),
            )?);
        }
        self.write_model()?;
        if let Some(log) = &mut self.log {
            log.append(record)?;
        }
        self.prefix.apply(record);
        Ok(())
    }
}
