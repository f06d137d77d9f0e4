//! One session as the agent keeps it: the log on disk and the history in memory, always changed together and
//! in this order, so that the log can reproduce what was sent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::item_facts::ItemFacts;
use super::usage::{LONG_CACHE_MS, UsageMeter};
use base::clock;
use base::model::item::{Item, ItemId, Summary};
use base::model::usage::Usage;
use base::protocol::event::{EndReason, TurnEnd};
use base::protocol::goal::{Goal, GoalRound, GoalState};
use context::builder::Built;
use context::history::entry::HistoryEntry;
use context::history::manager::HistoryManager;
use context::parts::FixedParts;
use context::prefix::Prefix;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::{
    Batch, Cause, CauseKind, FormName, ItemRecord, ParentCall, Record, RequestRecord,
};

pub struct Conversation {
    pub id: String,
    pub history: HistoryManager,
    pub usage: UsageMeter,
    pub facts: ItemFacts,
    /// What was sent last, as the log has it.
    pub prefix: Prefix,
    /// The call that a sub-agent works for.
    pub parent: Option<ParentCall>,
    pub begun_read_only: bool,
    project_state: PathBuf,
    workspace: PathBuf,
    /// Opened at the first record: an empty session leaves no file.
    log: Option<SessionLog>,
    /// Provider and model that the user chose with `/model`.
    chosen_model: Option<(String, String)>,
    /// The choice isn't in the log yet because there is no file.
    model_unwritten: bool,
    next_id: u64,
    turns: usize,
    /// Of the open or last goal.
    rounds: Vec<GoalRound>,
}

#[derive(Default)]
pub struct ResumedState {
    pub history: HistoryManager,
    pub prefix: Prefix,
    pub usage: UsageMeter,
    pub facts: ItemFacts,
    pub chosen_model: Option<(String, String)>,
    pub next_id: u64,
    pub turns: usize,
    pub rounds: Vec<GoalRound>,
}

impl Conversation {
    pub fn new(project_state: &Path, workspace: &Path) -> Self {
        Self {
            id: log::new_id(),
            history: HistoryManager::default(),
            usage: UsageMeter::default(),
            facts: ItemFacts::default(),
            prefix: Prefix::default(),
            parent: None,
            begun_read_only: false,
            project_state: project_state.to_owned(),
            workspace: workspace.to_owned(),
            log: None,
            chosen_model: None,
            model_unwritten: false,
            next_id: 1,
            turns: 0,
            rounds: Vec::new(),
        }
    }

    pub fn resumed(project_state: &Path, workspace: &Path, log: SessionLog, state: ResumedState) -> Self {
        let ResumedState { history, prefix, usage, facts, chosen_model, next_id, turns, rounds } = state;
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
            rounds,
            ..Self::new(project_state, workspace)
        }
    }

    /// Writes an item to the log and adds it to the history.
    pub fn record(&mut self, item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let item = Arc::new(item);
        let id = ItemId(self.next_id);
        let tokens = HistoryEntry::new(id, Arc::clone(&item), None, 0).full_tokens();
        let ms = clock::now_ms();
        self.write(&Record::Item(ItemRecord { id, ms, tokens, item: Arc::clone(&item) }))?;
        self.next_id += 1;
        self.facts.add(id, ms, &item);
        self.history.push(id, Arc::clone(&item), Some(tokens));
        Ok((id, item))
    }

    /// Sends a batch of items in another form from now on.
    pub fn adopt(&mut self, batch: &Batch) -> Result<(), LogError> {
        let batch = self.history.with_texts(batch);
        if batch.items.is_empty() {
            return Ok(());
        }
        self.write(&Record::Forms(batch.clone()))?;
        self.usage.forget_report();
        self.history.adopt(&batch);
        Ok(())
    }

    /// Closes a turn that ended on a reminder: servers want a reply between it and the next user message.
    pub fn close_unanswered(&mut self) -> Result<(), LogError> {
        if self.history.ends_on_reminder() {
            self.record(Item::assistant("[interrupted]"))?;
        }
        Ok(())
    }

    pub fn leave_out(&mut self, items: Vec<ItemId>, cause: CauseKind) -> Result<(), LogError> {
        self.adopt(&Batch::plain(items, FormName::Gone, cause))
    }

    /// Replaces everything before `before` with the summary.
    pub fn archive(
        &mut self,
        before: ItemId,
        summary: Summary,
        cause: impl Into<Cause>,
    ) -> Result<(), LogError> {
        let id = ItemId(self.next_id);
        let record = Record::Archive { before, id: Some(id), summary: summary.clone(), cause: cause.into() };
        self.write(&record)?;
        self.next_id += 1;
        self.history.archive(before, id, summary);
        self.usage.forget_report();
        Ok(())
    }

    pub fn unarchive(&mut self) -> Result<(), LogError> {
        self.write(&Record::Unarchive {})?;
        self.history.unarchive();
        self.usage.forget_report();
        Ok(())
    }

    /// Adds usage outside the session's own requests.
    pub fn add_side_usage(&mut self, model: &str, usage: &Usage) -> Result<(), LogError> {
        self.write(&Record::Beside { ms: clock::now_ms(), model: model.to_owned(), usage: *usage })?;
        self.usage.add(model, usage);
        Ok(())
    }

    pub fn rewind(&mut self, to: ItemId) -> Result<(), LogError> {
        self.write(&Record::Rewind { to })?;
        self.history.rewind(to);
        self.facts.rewind(to);
        self.usage.forget_report();
        Ok(())
    }

    /// Undoes the rewind (or revive) number `rewind`, counted from 0.
    pub fn revive(&mut self, rewind: u32) -> Result<(), LogError> {
        self.write(&Record::Revive { rewind })?;
        self.history.revive(rewind);
        self.facts.revive(rewind);
        self.usage.forget_report();
        Ok(())
    }

    pub fn pin(&mut self, items: &[ItemId], pinned: bool) -> Result<(), LogError> {
        self.write(&Record::Pin { items: items.to_vec(), pinned })?;
        for id in items {
            self.history.pin(*id, pinned);
        }
        Ok(())
    }

    /// Writes the changed fixed parts and the outline of the request, so that the log alone gives the same
    /// bytes again. `cold`: the prompt cache has expired.
    pub fn record_request(&mut self, parts: &FixedParts, built: &Built, cold: bool) -> Result<(), LogError> {
        if let Some(frame) = parts.since(self.prefix.parts()) {
            self.write(&Record::Frame(frame))?;
        }
        let sent = self.prefix.sent_record(built, cold);
        self.write(&Record::Sent(sent))
    }

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

    /// Doesn't write a text that went back to the user: it left the history too.
    pub fn end_turn(&mut self, mut end: TurnEnd) -> Result<(), LogError> {
        if let EndReason::ProviderFailed { prompt_returned, .. }
        | EndReason::Failed { prompt_returned, .. }
        | EndReason::Interrupted { prompt_returned } = &mut end.reason
        {
            *prompt_returned = None;
        }
        self.history.end_turn();
        self.turns += 1;
        self.rounds.extend(end.goal.as_deref().cloned());
        let cost_usd = self.usage.cost_usd();
        self.write(&Record::TurnEnd { ms: clock::now_ms(), end, turn: self.turns, cost_usd })
    }

    /// Sets the goal from the next item on, or closes the open one.
    pub fn set_goal(&mut self, goal: Option<Goal>) -> Result<(), LogError> {
        let at = ItemId(self.next_id);
        self.write(&Record::Goal { at, goal: goal.clone() })?;
        if goal.is_some() {
            self.rounds.clear();
        }
        self.history.set_goal(at, goal);
        Ok(())
    }

    /// The open goal with its rounds so far.
    pub fn goal(&self) -> Option<GoalState> {
        let goal = self.history.goal()?.clone();
        Some(GoalState { goal, rounds: self.rounds.clone() })
    }

    /// Removes the log if the session has become empty; returns whether it did.
    pub fn discard_if_empty(&mut self) -> bool {
        if self.turns > 0 || !self.history.entries().is_empty() {
            return false;
        }
        if let Some(log) = self.log.take() {
            let _ = std::fs::remove_file(log.path());
        }
        // The next log must not inherit counters of the removed one. Cost, what was learned of the server,
        // and the user's choice of a model stay.
        let fresh = Self::new(&self.project_state, &self.workspace);
        let old = std::mem::replace(self, fresh);
        (self.id, self.usage) = (old.id, old.usage);
        self.model_unwritten = old.chosen_model.is_some();
        self.chosen_model = old.chosen_model;
        true
    }

    pub fn choose_model(&mut self, provider: &str, model: &str) -> Result<(), LogError> {
        self.chosen_model = Some((provider.to_owned(), model.to_owned()));
        self.model_unwritten = true;
        // Without a file it waits for the first record.
        if self.log.is_some() { self.write_model() } else { Ok(()) }
    }

    fn write_model(&mut self) -> Result<(), LogError> {
        let (Some(log), Some((provider, model))) = (&mut self.log, &self.chosen_model) else { return Ok(()) };
        if std::mem::take(&mut self.model_unwritten) {
            log.append(&Record::Model { provider: provider.clone(), model: model.clone() })?;
        }
        Ok(())
    }

    pub fn chosen_model(&self) -> Option<&(String, String)> {
        self.chosen_model.as_ref()
    }

    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>]) -> Arc<str> {
        self.facts.unique_call_id(wanted, taken, self.next_id)
    }

    /// Lifetime of the last request's prompt cache in milliseconds; `usual` unless a long one was requested.
    pub fn cache_ms(&self, usual: u64) -> u64 {
        if self.prefix.parts().params.long_cache { LONG_CACHE_MS } else { usual }
    }

    /// User messages of the running turn that aren't sent in full.
    pub fn cut_messages(&self) -> usize {
        let running = &self.history.entries()[self.history.turn_start()..];
        let cut =
            |entry: &&HistoryEntry| matches!(&*entry.item, Item::User(_)) && entry.form() != FormName::Full;
        running.iter().filter(cut).count()
    }

    /// The newest item, even if it was rewound.
    pub fn last_item(&self) -> ItemId {
        ItemId(self.next_id - 1)
    }

    pub fn turns(&self) -> usize {
        self.turns
    }

    /// The file may not exist yet.
    pub fn log_path(&self) -> PathBuf {
        log::path_of(&self.project_state, &self.id)
    }

    fn write(&mut self, record: &Record) -> Result<(), LogError> {
        if self.log.is_none() {
            let create = if self.begun_read_only { SessionLog::create_read_only } else { SessionLog::create };
            let parent = self.parent.clone();
            self.log = Some(create(&self.project_state, &self.id, &self.workspace, parent)?);
        }
        self.write_model()?;
        if let Some(log) = &mut self.log {
            log.append(record)?;
        }
        self.prefix.apply(record);
        Ok(())
    }
}
