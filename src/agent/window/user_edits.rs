//! The user's edits of the context: pin, drop, restore, undo a compaction. Each is applied and logged, or
//! refused with the reason. A pin must never make a request larger than the window.

use super::request::RequestSizes;
use crate::session::conversation::Conversation;
use base::model::item::ItemId;
use base::protocol::ledger::ContextEdit;
use base::protocol::notice as texts;
use context::history::user_edits::{self, UserEditPlan};
use context::session::log::LogError;

pub fn plan(sizes: RequestSizes<'_>, edit: ContextEdit, id: ItemId) -> Result<UserEditPlan, String> {
    let plan = user_edits::plan(&sizes.conversation.state.history, edit, id)?;
    let (size, grows_by) = (sizes.estimated(), sizes.calibrated(plan.grows_by));
    // Exceeding the compaction limit is fine: compaction makes room again for what the user asked for.
    let most = sizes.settings.window_tokens.saturating_sub(sizes.settings.output_reserve_tokens);
    if grows_by > 0 && size + grows_by >= most {
        return Err(texts::restore_too_large(id, grows_by, most.saturating_sub(size)));
    }
    let pinned = pinned_with(sizes, &plan);
    if pinned > sizes.limit() / 2 {
        return Err(texts::pin_too_large(id, pinned));
    }
    Ok(plan)
}

/// Tokens that `plan` would leave pinned; 0 if it pins nothing.
fn pinned_with(sizes: RequestSizes<'_>, plan: &UserEditPlan) -> u64 {
    let Some((ids, true)) = &plan.pin else { return 0 };
    let entries = sizes.conversation.state.history.entries().iter();
    let pinned = entries.filter(|entry| entry.pinned || ids.contains(&entry.id));
    let tokens: u64 = pinned.map(|entry| u64::from(entry.tokens())).sum();
    sizes.calibrated(tokens + plan.grows_by)
}

pub fn apply(conversation: &mut Conversation, plan: &UserEditPlan) -> Result<(), LogError> {
    if let Some(batch) = &plan.batch {
        conversation.adopt(batch)?;
    }
    if let Some((ids, pinned)) = &plan.pin {
        conversation.pin(ids, *pinned)?;
    }
    Ok(())
}

pub fn release_pins(conversation: &mut Conversation) -> Result<usize, LogError> {
    let entries = conversation.state.history.entries().iter();
    let pinned: Vec<ItemId> = entries.filter(|entry| entry.pinned).map(|entry| entry.id).collect();
    if !pinned.is_empty() {
        conversation.pin(&pinned, false)?;
    }
    Ok(pinned.len())
}

/// The size in tokens after undoing the last compaction, or why that is refused.
pub fn plan_uncompact(sizes: RequestSizes<'_>) -> Result<u64, String> {
    let growth = sizes.conversation.state.history.unarchive_growth().ok_or(texts::NOTHING_TO_UNCOMPACT)?;
    let size = sizes.estimated() + sizes.calibrated(growth);
    if size >= sizes.limit() { Err(texts::uncompact_too_large(size, sizes.limit())) } else { Ok(size) }
}
