//! Builds a conversation's next request so that it fits the window, or says why it can't. Runs before every
//! request, including during a turn.

use std::path::Path;

use super::compactor::{self, CompactionCx, Compactor, FitError};
use super::fixed_prompt::FixedPrompt;
use super::request::{NextRequest, RequestSizes};
use crate::control::{Events, TurnControl, notice};
use crate::sampling::sampler::Sampler;
use crate::session::conversation::Conversation;
use base::config::settings::{Binding, ContextSettings};
use base::model::item::ItemId;
use base::model::request::Params;
use base::protocol::event::{Event, Level, WindowState};
use base::protocol::ledger::{ContextEdit, LedgerView};
use base::protocol::notice as texts;
use context::history::user_edits::{self, UserEditPlan};
use context::session::log::LogError;

pub struct ContextWindow {
    settings: ContextSettings,
    pub prompt: FixedPrompt,
    pub compactor: Compactor,
    /// Size of the last request built, in estimated tokens.
    last_size: u64,
}

impl ContextWindow {
    pub fn new(settings: ContextSettings, prompt: FixedPrompt) -> Self {
        let mut window = Self { settings, prompt, compactor: Compactor::default(), last_size: 0 };
        window.resized();
        window
    }

    pub fn settings(&self) -> &ContextSettings {
        &self.settings
    }

    /// For another model, or after learning about its server. Also updates what depends on the window.
    pub fn set_settings(&mut self, settings: ContextSettings) {
        self.settings = settings;
        self.resized();
    }

    /// The server turned out to bind reasoning to the messages before it.
    pub fn bind_reasoning(&mut self) {
        self.settings.binding = Binding::Rejects;
    }

    pub fn size(&self) -> (u64, u64) {
        (self.settings.window_tokens, self.settings.output_reserve_tokens)
    }

    pub fn resize(&mut self, (window, reserve): (u64, u64)) {
        (self.settings.window_tokens, self.settings.output_reserve_tokens) = (window, reserve);
        self.resized();
    }

    fn resized(&mut self) {
        self.prompt.rules.limit = u32::try_from(self.settings.window_tokens / 10).ok();
    }

    pub fn sizes<'a>(&'a self, conversation: &'a Conversation) -> RequestSizes<'a> {
        RequestSizes { prompt: &self.prompt, conversation, settings: &self.settings }
    }

    /// Starts or resumes a session; drops the sizes of the previous one.
    pub async fn open(&mut self, conversation: &mut Conversation, params: &Params, workspace: &Path) {
        self.compactor = self.compactor.renewed();
        conversation.state.calibration.presume(self.settings.token_ratio);
        self.prompt.refresh_rules(workspace).await;
        self.fix_rules(conversation, params);
        self.measure(conversation, params);
    }

    /// Chooses the rules to send: those this model already got in this session, or else the current ones.
    pub fn fix_rules(&mut self, conversation: &Conversation, params: &Params) {
        let before = conversation.state.prefix.parts();
        let same = conversation.state.prefix.requests() > 0 && before.params.model == params.model;
        let rules = if same { before.rules.clone() } else { self.prompt.rules.part().cloned() };
        self.prompt.sent_rules = rules;
    }

    pub fn build(&self, conversation: &Conversation, params: &Params) -> NextRequest {
        NextRequest::build(self.sizes(conversation), params)
    }

    /// Applies the user's edits, rewrites the past if needed or worthwhile, and builds the request.
    pub async fn next_request(
        &mut self,
        conversation: &mut Conversation,
        sampler: &Sampler,
        control: &TurnControl,
    ) -> Result<NextRequest, FitError> {
        self.apply_queued_edits(conversation, &sampler.params, control)?;
        let cut_before = conversation.cut_messages();
        self.fit_or_unpin(conversation, sampler, control).await?;
        if conversation.cut_messages() > cut_before {
            control.notice(Level::Warning, texts::MESSAGE_TRUNCATED.to_owned());
        }
        if control.cancel.is_cancelled() {
            return Err(FitError::Interrupted);
        }
        let sizes = RequestSizes { prompt: &self.prompt, conversation, settings: &self.settings };
        self.compactor.prepare(sizes, sampler);
        let next = NextRequest::of_epoch(&self.prompt, &self.settings, conversation, &sampler.params)?;
        self.last_size = next.built.ledger.total();
        Ok(next)
    }

    /// Makes the next request fit; if pins prevent that, releases them and warns the user.
    async fn fit_or_unpin(
        &mut self,
        conversation: &mut Conversation,
        sampler: &Sampler,
        control: &TurnControl,
    ) -> Result<(), FitError> {
        let cold = self.is_cold(conversation);
        let (prompt, settings) = (&self.prompt, &self.settings);
        let with = CompactionCx { prompt, settings, sampler, cold, control };
        let failed = match self.compactor.fit(conversation, with).await {
            Err(failed @ FitError::TooSmall { .. }) => failed,
            other => return other,
        };
        match release_pins(conversation)? {
            0 => Err(failed),
            released => {
                control.notice(Level::Warning, texts::unpinned_all(released));
                self.compactor.fit(conversation, with).await
            }
        }
    }

    /// Compacts at the user's request; `focus` is what to keep in detail. Returns the notice for the user.
    pub async fn compact(
        &mut self,
        conversation: &mut Conversation,
        sampler: &Sampler,
        control: &TurnControl,
        focus: String,
    ) -> (Level, String) {
        let before = self.sizes(conversation).estimated();
        let cold = self.is_cold(conversation);
        let (prompt, settings) = (&self.prompt, &self.settings);
        let with = CompactionCx { prompt, settings, sampler, cold, control };
        let outcome = self.compactor.archive_rounds(conversation, with, Some(focus)).await;
        let outcome = outcome.and_then(|outcome| compactor::fold_rest(conversation, settings, outcome));
        compactor::told(outcome, before, self.sizes(conversation).estimated())
    }

    /// Undoes the last compaction; its entries return in their previous form. Returns the new size, or why it can't.
    pub fn uncompact(&mut self, conversation: &mut Conversation) -> Result<Result<u64, String>, LogError> {
        let planned = plan_uncompact(self.sizes(conversation));
        if planned.is_ok() {
            self.compactor.drop_task();
            conversation.unarchive()?;
        }
        Ok(planned)
    }

    /// Applies and reports the queued edits; returns whether the next request changes.
    pub fn apply_queued_edits(
        &mut self,
        conversation: &mut Conversation,
        params: &Params,
        control: &TurnControl,
    ) -> Result<bool, LogError> {
        let edits = control.take_edits();
        let (any, mut changed) = (!edits.is_empty(), false);
        for (edit, id) in edits {
            let (level, text) = match plan_edit(self.sizes(conversation), edit, id) {
                Ok(plan) => {
                    apply_edit(conversation, &plan)?;
                    changed = true;
                    (Level::Info, plan.message)
                }
                Err(refusal) => (Level::Warning, refusal),
            };
            control.notice(level, text);
        }
        if any {
            let _ = control.events.send(Event::Ledger(self.ledger(conversation, params)));
        }
        Ok(changed)
    }

    /// If the server silently truncated the prompt, warns once and stays within its window.
    pub fn mind_truncation(&mut self, conversation: &mut Conversation, events: &Events) {
        let Some(window) = conversation.usage.truncated_to.take() else { return };
        // A server that can't even take the fixed parts would be useless, so such a report is wrong.
        if window >= self.settings.window_tokens || window < self.prompt.tokens() * 5 / 4 {
            return;
        }
        let sent = conversation.state.calibration.apply(self.last_size);
        self.resize((window, self.settings.output_reserve_tokens.min(window / 8)));
        notice(events, Level::Warning, texts::prompt_truncated_by_server(sent, window));
    }

    pub fn is_cold(&self, conversation: &Conversation) -> bool {
        conversation.usage.idle_ms() > conversation.cache_ms(self.settings.cache_ms)
    }

    pub fn measure(&mut self, conversation: &Conversation, params: &Params) {
        self.last_size = self.build(conversation, params).built.ledger.total();
    }

    pub fn last_size(&self) -> u64 {
        self.last_size
    }

    pub fn state(&self, conversation: &Conversation) -> WindowState {
        let calibration = &conversation.state.calibration;
        conversation.usage.window(self.last_size, self.settings.window_tokens, calibration)
    }

    pub fn ledger(&self, conversation: &Conversation, params: &Params) -> LedgerView {
        let ledger = self.build(conversation, params).built.ledger;
        let epochs = conversation.state.prefix.epochs();
        ledger.view(
            &conversation.state.history,
            &self.settings,
            &conversation.state.calibration,
            epochs,
            self.prompt.sent_rules.as_ref(),
        )
    }
}

fn plan_edit(sizes: RequestSizes<'_>, edit: ContextEdit, id: ItemId) -> Result<UserEditPlan, String> {
    let plan = user_edits::plan(&sizes.conversation.state.history, edit, id)?;
    let (size, grows_by) = (sizes.estimated(), sizes.calibrated(plan.grows_by));
    // Exceeding the compaction limit is fine: compaction then makes room for what the user asked for.
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

fn apply_edit(conversation: &mut Conversation, plan: &UserEditPlan) -> Result<(), LogError> {
    if let Some(batch) = &plan.batch {
        conversation.adopt(batch)?;
    }
    if let Some((ids, pinned)) = &plan.pin {
        conversation.pin(ids, *pinned)?;
    }
    Ok(())
}

fn release_pins(conversation: &mut Conversation) -> Result<usize, LogError> {
    let entries = conversation.state.history.entries().iter();
    let pinned: Vec<ItemId> = entries.filter(|entry| entry.pinned).map(|entry| entry.id).collect();
    if !pinned.is_empty() {
        conversation.pin(&pinned, false)?;
    }
    Ok(pinned.len())
}

/// The size in tokens after undoing the last compaction, or why that is refused.
fn plan_uncompact(sizes: RequestSizes<'_>) -> Result<u64, String> {
    let growth = sizes.conversation.state.history.unarchive_growth().ok_or(texts::NOTHING_TO_UNCOMPACT)?;
    let size = sizes.estimated() + sizes.calibrated(growth);
    if size >= sizes.limit() { Err(texts::uncompact_too_large(size, sizes.limit())) } else { Ok(size) }
}
