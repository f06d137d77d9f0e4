//! Keeps every request inside the window, in stages that are logged with their cause. Old rounds are replaced
//! by a summary and the recorded facts. The summary is written early, in its own task, so that users rarely
//! wait; its timeout limits waits. Without a usable summary, only the facts are used.

use std::sync::Arc;

use super::fixed_prompt::FixedPrompt;
use super::request::RequestSizes;
use super::summary_task::{self, SummaryTask, covered};
use crate::control::TurnControl;
use crate::hooks::turn_hooks::{self, MaybeHooks};
use crate::sampling::sampler::Sampler;
use crate::session::conversation::Conversation;
use base::config::settings::ContextSettings;
use base::model::item::{Item, ItemId, ReminderTopic, Summary};
use base::protocol::event::Level;
use base::protocol::notice as texts;
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::stages::{CompactionStage, CompactionStages, SizeTarget};
use context::session::log::LogError;
use context::summary::compressor::{self, SummaryOutcome};

const MAX_FAILURES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    Done,
    /// There are no rounds to archive.
    Nothing,
    Interrupted,
    NotSmaller,
    Blocked,
}

#[derive(Default)]
pub struct Compactor {
    task: Option<SummaryTask>,
    failures: u32,
    off: bool,
    pub hooks: MaybeHooks,
}

#[derive(Clone, Copy)]
pub struct CompactionCx<'a> {
    pub prompt: &'a FixedPrompt,
    pub settings: &'a ContextSettings,
    pub sampler: &'a Sampler,
    /// The prompt cache has expired since the last request.
    pub cold: bool,
    pub control: &'a TurnControl,
}

impl<'a> CompactionCx<'a> {
    fn sizes(&self, conversation: &'a Conversation) -> RequestSizes<'a> {
        RequestSizes { prompt: self.prompt, conversation, settings: self.settings }
    }
}

#[derive(Debug)]
pub enum FitError {
    Interrupted,
    Log(LogError),
    /// Nothing more can be dropped: the fixed parts and the newest message are larger than the window.
    TooSmall {
        needed: u64,
        window: u64,
        rules: u64,
    },
}

impl From<LogError> for FitError {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl Compactor {
    pub fn renewed(&self) -> Self {
        Self { hooks: self.hooks.clone(), ..Self::default() }
    }

    pub fn set_auto(&mut self, on: bool) {
        self.off = !on;
        self.reset_failures();
        self.drop_task();
    }

    pub fn reset_failures(&mut self) {
        self.failures = 0;
    }

    pub fn drop_task(&mut self) {
        self.task = None;
    }

    fn disabled(&self) -> bool {
        self.off || self.failures >= MAX_FAILURES
    }

    /// Starts a summary early, if what can't be folded fills the window.
    pub fn prepare(&mut self, sizes: RequestSizes<'_>, sampler: &Sampler) {
        let size = sizes.estimated();
        let early = policy::early(sizes.settings);
        if self.disabled() || size < early {
            return;
        }
        if self.task.as_ref().is_some_and(|task| task.still_covers(sizes.conversation)) {
            return;
        }
        let folded = policy::folded_tokens(&sizes.conversation.state.history, sizes.settings);
        if sizes.calibrated(sizes.prompt.tokens() + folded) < early {
            return;
        }
        // Leave room for what arrives until then.
        if let Some(before) = summary_task::archive_cut(sizes, false, sizes.limit().saturating_sub(size)) {
            self.task = Some(SummaryTask::begin(sizes, sampler, before, None));
        }
    }

    /// Brings the next request under the limit, or at least into the window.
    pub async fn fit(
        &mut self,
        conversation: &mut Conversation,
        with: CompactionCx<'_>,
    ) -> Result<(), FitError> {
        adopt_where_it_pays(conversation, with)?;
        let sizes = with.sizes(conversation);
        if sizes.estimated() >= sizes.limit() {
            let target = SizeTarget::gentle(sizes.settings, with.prompt.tokens());
            let mut stages = CompactionStages::gentle(sizes.thresholds());
            while with.sizes(conversation).estimated() > policy::early(with.settings)
                && let Some(stage) = stages.next(&conversation.state.history, target)
            {
                match stage {
                    CompactionStage::Summarize => drop(self.archive_rounds(conversation, with, None).await?),
                    other => apply(conversation, other)?,
                }
            }
        }
        force_fit(conversation, with)
    }

    /// `focus` is what the user wants kept in detail. If hooks refuse, only the final guard shrinks the request.
    pub async fn archive_rounds(
        &mut self,
        conversation: &mut Conversation,
        with: CompactionCx<'_>,
        focus: Option<String>,
    ) -> Result<CompactionOutcome, LogError> {
        let Some(hooks) = self.hooks.clone() else { return self.archive(conversation, with, focus).await };
        if summary_task::archive_cut(with.sizes(conversation), focus.is_some(), 0).is_none() {
            return Ok(CompactionOutcome::Nothing);
        }
        let (cancel, manual) = (&with.control.cancel, focus.is_some());
        if !turn_hooks::before_compaction(&hooks, focus.as_deref(), cancel).await {
            return Ok(CompactionOutcome::Blocked);
        }
        let outcome = self.archive(conversation, with, focus).await?;
        if outcome == CompactionOutcome::Done {
            let summary = conversation.state.history.entries().iter().find_map(|entry| match &*entry.item {
                Item::Summary(summary) => Some(Arc::clone(&summary.text)),
                _ => None,
            });
            let summary = summary.unwrap_or_default();
            if let Some(text) = turn_hooks::after_compaction(&hooks, manual, &summary, cancel).await {
                conversation.remind(ReminderTopic::Hooks, text)?;
            }
        }
        Ok(outcome)
    }

    async fn archive(
        &mut self,
        conversation: &mut Conversation,
        with: CompactionCx<'_>,
        focus: Option<String>,
    ) -> Result<CompactionOutcome, LogError> {
        let Some(before) = summary_task::archive_cut(with.sizes(conversation), focus.is_some(), 0) else {
            return Ok(CompactionOutcome::Nothing);
        };
        let window_tokens = with.settings.window_tokens;
        if focus.is_none() && self.disabled() {
            let summary = facts_only(conversation, before, window_tokens);
            return adopt(conversation, before, summary);
        }
        let plain = focus.as_deref().is_none_or(|focus| focus.trim().is_empty());
        let prepared = self.task.take().filter(|task| plain && task.still_covers(conversation));
        let begin = |conversation: &Conversation| {
            SummaryTask::begin(with.sizes(conversation), with.sampler, before, focus.clone())
        };
        let mut task = prepared.unwrap_or_else(|| begin(conversation));
        loop {
            let Some(done) = task.finished(with.control).await else {
                return Ok(CompactionOutcome::Interrupted);
            };
            if let Some(usage) = &done.usage {
                conversation.add_side_usage(with.sampler.summary_model(), usage)?;
            }
            self.count_outcome(&done, with.control);
            if done.fallback.is_some() {
                // The facts work for the current cut as well as for the planned one.
                let summary = facts_only(conversation, before, window_tokens);
                return adopt(conversation, before, summary);
            }
            let sizes = with.sizes(conversation);
            // Accept a slightly larger result rather than pay for a new summary.
            let landing = summary_task::size_with(sizes, task.before, &done.summary);
            if landing <= policy::early(sizes.settings) || task.before == before {
                return adopt(conversation, task.before, done.summary);
            }
            task = begin(conversation);
        }
    }

    fn count_outcome(&mut self, done: &SummaryOutcome, control: &TurnControl) {
        let Some(reason) = &done.fallback else { return self.reset_failures() };
        self.failures += 1;
        control.notice(Level::Warning, texts::summary_failed(reason, self.failures >= MAX_FAILURES));
    }
}

/// Folds what a compaction that the user asked for left whole: it has to be read anew anyway.
pub fn fold_rest(
    conversation: &mut Conversation,
    settings: &ContextSettings,
    outcome: CompactionOutcome,
) -> Result<CompactionOutcome, LogError> {
    if matches!(outcome, CompactionOutcome::Interrupted | CompactionOutcome::Blocked) {
        return Ok(outcome);
    }
    let batches = policy::on_request(&conversation.state.history, settings);
    batches.iter().try_for_each(|batch| conversation.adopt(batch))?;
    Ok(if batches.is_empty() { outcome } else { CompactionOutcome::Done })
}

/// Rewrites the past if the policy finds that it pays off or the soft cap demands it.
fn adopt_where_it_pays(conversation: &mut Conversation, with: CompactionCx<'_>) -> Result<(), LogError> {
    let situation = PolicyInputs {
        settings: with.settings,
        limits: with.sizes(conversation).thresholds(),
        cold: with.cold,
        turn_start: conversation.state.history.at_turn_start(),
        fixed_tokens: with.prompt.tokens(),
        // Cautious, as `force_fit` is; otherwise `force_fit` would act first.
        scale: with.sizes(conversation).cautious_ratio(),
    };
    for batch in policy::before_request(&conversation.state.history, &situation) {
        conversation.adopt(&batch)?;
    }
    Ok(())
}

/// The final guard: a request larger than the window is never sent.
fn force_fit(conversation: &mut Conversation, with: CompactionCx<'_>) -> Result<(), FitError> {
    let window = with.settings.room_tokens();
    let mut stages = CompactionStages::hard(with.sizes(conversation).thresholds());
    loop {
        let needed = with.sizes(conversation).at_most();
        if needed <= window {
            return Ok(());
        }
        // How much must go, in the upper bounds that the stages use.
        let bound = conversation.state.history.upper_bound();
        let room =
            window.saturating_sub(with.prompt.upper_bound()).min(bound.saturating_sub(needed - window));
        match stages.next(&conversation.state.history, SizeTarget::hard(room)) {
            Some(stage) => apply(conversation, stage)?,
            None => {
                let rules = with.prompt.rules_tokens();
                return Err(FitError::TooSmall { needed, window: with.settings.window_tokens, rules });
            }
        }
    }
}

fn apply(conversation: &mut Conversation, stage: CompactionStage) -> Result<(), LogError> {
    match stage {
        CompactionStage::Adopt(batches) => batches.iter().try_for_each(|batch| conversation.adopt(batch)),
        CompactionStage::Summarize => Ok(()),
        CompactionStage::Archive { before, summary, cause } => conversation.archive(before, summary, cause),
    }
}

/// The notice for the user; `before` and `after` are request sizes.
pub fn told(outcome: Result<CompactionOutcome, LogError>, before: u64, after: u64) -> (Level, String) {
    let text = match outcome {
        Ok(CompactionOutcome::Done) => texts::compacted(before, after),
        Ok(CompactionOutcome::Nothing) => texts::NOTHING_TO_COMPACT.to_owned(),
        Ok(CompactionOutcome::Interrupted) => texts::COMPACTION_STOPPED.to_owned(),
        Ok(CompactionOutcome::Blocked) => texts::COMPACTION_BLOCKED.to_owned(),
        Ok(CompactionOutcome::NotSmaller) => texts::SUMMARY_NOT_SMALLER.to_owned(),
        Err(error) => return (Level::Error, error.to_string()),
    };
    (Level::Info, text)
}

fn facts_only(conversation: &Conversation, before: ItemId, window_tokens: u64) -> Summary {
    compressor::facts_only(&covered(conversation, before), conversation.state.history.goal(), window_tokens)
}

fn adopt(
    conversation: &mut Conversation,
    before: ItemId,
    summary: Summary,
) -> Result<CompactionOutcome, LogError> {
    let smaller = summary_task::adopt(conversation, before, summary)?;
    Ok(if smaller { CompactionOutcome::Done } else { CompactionOutcome::NotSmaller })
}
