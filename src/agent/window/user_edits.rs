//! The user's hand in the context: pin, drop and restore, applied and logged, and taken back where the window forces
//! it: a request over the window is never sent, and a pin must not end a turn.

use super::fit::FitError;
use crate::agent::control::{Events, TurnControl, notice};
use crate::agent::core::Core;
use crate::context::compaction::policy;
use crate::context::history::user_edits::{self, UserEditPlan};
use crate::model::item::ItemId;
use crate::protocol::event::{Event, Level};
use crate::protocol::ledger::ContextEdit;
use crate::session::log::LogError;

impl Core {
    /// Does one edit and tells the user how it went. Returns whether the next request changes.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn edit_context(&mut self, edit: ContextEdit, id: ItemId, events: &Events) -> Result<bool, LogError> {
        let plan = match user_edits::plan(&self.conversation.history, edit, id) {
            Ok(plan) => plan,
            Err(refusal) => {
                notice(events, Level::Warning, refusal);
                return Ok(false);
            }
        };
        let grown = self.size() + self.conversation.calibration.apply(plan.grows_by);
        if plan.grows_by > 0 && grown >= policy::limit(&self.context) {
            let room = policy::limit(&self.context).saturating_sub(self.size());
            let refusal = format!(
                "{id} whole would take {} tokens more; there is room for {room}. Drop something larger first.",
                plan.grows_by
            );
            notice(events, Level::Warning, refusal);
            return Ok(false);
        }
        let pinned = self.pinned_with(&plan);
        if pinned > policy::limit(&self.context) / 2 {
            let refusal = format!(
                "{id} stays as it is: with it {pinned} tokens would be pinned, more than half of what fits, and what is \
                 new would have to give way. Unpin something first."
            );
            notice(events, Level::Warning, refusal);
            return Ok(false);
        }
        if let Some(batch) = &plan.batch {
            self.conversation.adopt(batch)?;
        }
        if let Some((ids, pinned)) = &plan.pin {
            self.conversation.pin(ids, *pinned)?;
        }
        notice(events, Level::Info, plan.message);
        Ok(true)
    }

    /// Tokens that would be pinned after `plan`; 0 when it pins nothing.
    fn pinned_with(&self, plan: &UserEditPlan) -> u64 {
        let Some((ids, true)) = &plan.pin else { return 0 };
        let entries = self.conversation.history.entries().iter();
        let pinned = entries.filter(|entry| entry.pinned || ids.contains(&entry.id));
        let tokens: u64 = pinned.map(|entry| u64::from(entry.tokens())).sum();
        self.conversation.calibration.apply(tokens + plan.grows_by)
    }

    /// Does what the user asked for while the turn ran.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn take_edits(&mut self, control: &TurnControl, events: &Events) -> Result<(), LogError> {
        let edits = control.take_edits();
        let any = !edits.is_empty();
        for (edit, id) in edits {
            self.edit_context(edit, id, events)?;
        }
        if any {
            let _ = events.send(Event::Ledger(self.ledger_view(&self.build().ledger)));
        }
        Ok(())
    }

    /// Brings the next request under the limit; when the pins stand in the way they are released, and the user hears it.
    ///
    /// # Errors
    /// [`FitError`].
    pub async fn fit_or_release(
        &mut self,
        control: &std::sync::Arc<TurnControl>,
        events: &Events,
    ) -> Result<(), FitError> {
        let failed = match self.fit(control, events).await {
            Err(failed @ FitError::TooSmall { .. }) => failed,
            other => return other,
        };
        let pinned: Vec<ItemId> =
            self.conversation.history.entries().iter().filter(|e| e.pinned).map(|e| e.id).collect();
        if pinned.is_empty() {
            return Err(failed);
        }
        self.conversation.pin(&pinned, false)?;
        let items = crate::base::text::plural(pinned.len(), "pinned item");
        let text = format!(
            "The window is too small for {items}: nothing is pinned any more, so that the turn goes on."
        );
        notice(events, Level::Warning, text);
        self.fit(control, events).await
    }
}
