//! The agent's session: the log on disk and the history in memory, always changed together and in this
//! order, so that what was sent can be rebuilt from the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::item_facts::ItemFacts;
use super::usage::{LONG_CACHE_MS, UsageMeter};
use base::clock;
use base::model::item::{Item, ItemId, Reminder, ReminderTopic, Summary};
use base::model::request;
use base::model::usage::Usage;
use base::protocol::event::{EndReason, TurnEnd};
use base::protocol::goal::{Goal, GoalRound, GoalState};
use context::builder::Built;
use context::history::entry::HistoryEntry;
use context::parts::FixedParts;
use context::replay::session_replay::SessionReplay;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::{
    Batch, BegunWith, Cause, CauseKind, FormName, ItemRecord, Meta, ParentCall, Record, RequestRecord,
};

#[derive(Default)]
pub struct Conversation {
    pub id: String,
    /// The history and what was sent, rebuilt from the log.
    pub state: SessionReplay,
    pub usage: UsageMeter,
    pub facts: ItemFacts,
    pub parent: Option<ParentCall>,
    pub begun: BegunWith,
    pub is_review: bool,
    pub headless: bool,
    pub chosen_model: Option<(String, String)>,
    pub turns: usize,
    project_state: PathBuf,
    workspace: PathBuf,
    /// Opened with the first record, so that an empty session leaves no file.
    log: Option<SessionLog>,
    /// The chosen model isn't in the log yet because there is no file.
    model_unwritten: bool,
    rounds: Vec<GoalRound>,
}

impl Conversation {
    pub fn new(project_state: &Path, workspace: &Path) -> Self {
        Self {
            id: log::new_id(),
            project_state: project_state.to_owned(),
            workspace: workspace.to_owned(),
            ..Self::default()
        }
    }

    pub fn stored(project_state: &Path, workspace: &Path, log: SessionLog, records: &[Record]) -> Self {
        let id = log.id().to_owned();
        let mut stored = Self { id, log: Some(log), ..Self::new(project_state, workspace) };
        records.iter().for_each(|record| stored.apply(record));
        stored
    }

    /// Applies a record, whether read from the log or just written.
    fn apply(&mut self, record: &Record) {
        if !self.state.apply(record) {
            return;
        }
        match record {
            Record::Item(record) => self.facts.add(record.id, record.ms, &record.item),
            // The last reported size is out of date.
            Record::Forms(_) | Record::Archive { .. } | Record::Unarchive {} => self.usage.forget_report(),
            Record::Rewind { to } => {
                self.facts.rewind(*to);
                self.usage.forget_report();
            }
            Record::Revive { rewind } => {
                self.facts.revive(*rewind);
                self.usage.forget_report();
            }
            Record::Model { provider, model } => self.chosen_model = Some((provider.clone(), model.clone())),
            Record::Request(request) => {
                self.usage.add_request(request);
                self.usage.set_truncation(self.state.truncated_to.take());
            }
            Record::Beside { ms, model, usage } => self.usage.add(model, usage, *ms),
            Record::TurnEnd { end, .. } => {
                self.turns += 1;
                self.rounds.extend(end.goal.as_deref().cloned());
            }
            Record::Goal { goal: Some(_), .. } => self.rounds.clear(),
            Record::Goal { goal: None, .. } => {}
            Record::Meta(_) | Record::Pin { .. } | Record::Frame(_) | Record::Sent(_) => {}
        }
    }

    pub fn record(&mut self, item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let (id, item) = (ItemId(self.state.next_id), Arc::new(item));
        let tokens = HistoryEntry::new(id, Arc::clone(&item), None, 0).full_tokens();
        let record = ItemRecord { id, ms: clock::now_ms(), tokens, item: Arc::clone(&item) };
        self.write(&Record::Item(record))?;
        Ok((id, item))
    }

    pub fn remind(&mut self, about: ReminderTopic, text: impl Into<Arc<str>>) -> Result<ItemId, LogError> {
        let mut text = text.into();
        // Text from others is sent in the user's role, so it gets the reminder tags.
        if !about.is_ours() && !text.starts_with("<system-reminder>") {
            text = request::reminder(&text).into();
        }
        Ok(self.record(Item::Reminder(Reminder { about, text }))?.0)
    }

    pub fn last_said(&self) -> Option<&Arc<str>> {
        self.state.history.entries().iter().rev().find_map(|entry| match &*entry.item {
            Item::Assistant { text, .. } if !text.trim().is_empty() => Some(text),
            _ => None,
        })
    }

    pub fn adopt(&mut self, batch: &Batch) -> Result<(), LogError> {
        let batch = self.state.history.with_texts(batch);
        if batch.items.is_empty() { Ok(()) } else { self.write(&Record::Forms(batch)) }
    }

    /// Closes a turn that ended with a reminder: servers expect a reply between it and the next user message.
    pub fn close_unanswered(&mut self) -> Result<(), LogError> {
        if self.state.history.ends_on_reminder() {
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
        let id = Some(ItemId(self.state.next_id));
        self.write(&Record::Archive { before, id, summary, cause: cause.into() })
    }

    pub fn unarchive(&mut self) -> Result<(), LogError> {
        self.write(&Record::Unarchive {})
    }

    /// Records usage outside the session's own requests.
    pub fn add_side_usage(&mut self, model: &str, usage: &Usage) -> Result<(), LogError> {
        self.write(&Record::Beside { ms: clock::now_ms(), model: model.to_owned(), usage: *usage })
    }

    pub fn rewind(&mut self, to: ItemId) -> Result<(), LogError> {
        self.write(&Record::Rewind { to })
    }

    /// Undoes the rewind (or revive) number `rewind`, counted from 0.
    pub fn revive(&mut self, rewind: u32) -> Result<(), LogError> {
        self.write(&Record::Revive { rewind })
    }

    pub fn pin(&mut self, items: &[ItemId], pinned: bool) -> Result<(), LogError> {
        self.write(&Record::Pin { items: items.to_vec(), pinned })
    }

    /// Logs changed fixed parts and the request's outline, for an exact replay. `cold`: the prompt cache has expired.
    pub fn record_request(&mut self, parts: &FixedParts, built: &Built, cold: bool) -> Result<(), LogError> {
        if let Some(frame) = parts.since(self.state.prefix.parts()) {
            self.write(&Record::Frame(frame))?;
        }
        let sent = self.state.prefix.sent_record(built, cold);
        self.write(&Record::Sent(sent))
    }

    pub fn record_usage(
        &mut self,
        model: &str,
        (estimated, window): (u64, u64),
        usage: Option<Usage>,
    ) -> Result<(), LogError> {
        let (ms, model, window) = (clock::now_ms(), model.to_owned(), Some(window));
        self.write(&Record::Request(RequestRecord { ms, model, estimated, usage, window }))
    }

    /// Leaves out a prompt that was returned to the user, as it is no longer in the history.
    pub fn end_turn(&mut self, mut end: TurnEnd) -> Result<(), LogError> {
        if let EndReason::ProviderFailed { prompt_returned, .. }
        | EndReason::Failed { prompt_returned, .. }
        | EndReason::Interrupted { prompt_returned } = &mut end.reason
        {
            *prompt_returned = None;
        }
        let (turn, cost_usd) = (self.turns + 1, self.usage.cost_usd());
        self.write(&Record::TurnEnd { ms: clock::now_ms(), end, turn, cost_usd })
    }

    /// Sets the goal from the next item on, or closes the open one.
    pub fn set_goal(&mut self, goal: Option<Goal>) -> Result<(), LogError> {
        self.write(&Record::Goal { at: ItemId(self.state.next_id), goal })
    }

    pub fn goal(&self) -> Option<GoalState> {
        let goal = self.state.history.goal()?.clone();
        Some(GoalState { goal, rounds: self.rounds.clone() })
    }

    pub fn discard_if_empty(&mut self) -> bool {
        if self.turns > 0 || !self.state.history.entries().is_empty() {
            return false;
        }
        if let Some(log) = self.log.take() {
            let _ = std::fs::remove_file(log.path());
        }
        // The next log must not inherit the counters. Keep cost, lessons about the server, and the chosen model.
        let fresh = Self::new(&self.project_state, &self.workspace);
        let old = std::mem::replace(self, fresh);
        (self.id, self.usage) = (old.id, old.usage);
        self.state.calibration = old.state.calibration;
        self.model_unwritten = old.chosen_model.is_some();
        self.chosen_model = old.chosen_model;
        true
    }

    pub fn choose_model(&mut self, provider: &str, model: &str) -> Result<(), LogError> {
        self.chosen_model = Some((provider.to_owned(), model.to_owned()));
        self.model_unwritten = true;
        // Without a file, it is written with the first record.
        if self.log.is_some() { self.write_model() } else { Ok(()) }
    }

    fn write_model(&mut self) -> Result<(), LogError> {
        let (Some(log), Some((provider, model))) = (&mut self.log, &self.chosen_model) else { return Ok(()) };
        if std::mem::take(&mut self.model_unwritten) {
            log.append(&Record::Model { provider: provider.clone(), model: model.clone() })?;
        }
        Ok(())
    }

    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>]) -> Arc<str> {
        self.facts.unique_call_id(wanted, taken, self.state.next_id)
    }

    /// Lifetime of the last request's prompt cache in milliseconds; `usual` unless a long one was requested.
    pub fn cache_ms(&self, usual: u64) -> u64 {
        if self.state.prefix.parts().params.long_cache { LONG_CACHE_MS } else { usual }
    }

    /// User messages of the running turn that aren't sent in full.
    pub fn cut_messages(&self) -> usize {
        let running = &self.state.history.entries()[self.state.history.turn_start()..];
        let cut =
            |entry: &&HistoryEntry| matches!(&*entry.item, Item::User(_)) && entry.form() != FormName::Full;
        running.iter().filter(cut).count()
    }

    /// The newest item, even if it was rewound.
    pub fn last_item(&self) -> ItemId {
        ItemId(self.state.next_id - 1)
    }

    pub fn log_path(&self) -> PathBuf {
        log::path_of(&self.project_state, &self.id)
    }

    fn write(&mut self, record: &Record) -> Result<(), LogError> {
        if self.log.is_none() {
            let set = |meta: &mut Meta| {
                meta.parent = self.parent.clone();
                meta.begun = self.begun.clone();
                (meta.headless, meta.review) = (self.headless, self.is_review);
            };
            self.log = Some(SessionLog::create(&self.project_state, &self.id, &self.workspace, set)?);
        }
        self.write_model()?;
        if let Some(log) = &mut self.log {
            log.append(record)?;
        }
        self.apply(record);
        Ok(())
    }
}
