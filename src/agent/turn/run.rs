//! One turn: the ReAct loop. Asks the model, runs its calls, and repeats until it is done. The turn owns the
//! conversation while it runs; interrupts and steering reach it through its control.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::additions::reminders;
use super::error::{self, TurnError};
use super::goal::{self, GoalTurn, TurnOpening};
use super::input::{begin, steering};
use super::nudges::Nudges;
use super::reply::{ModelReply, ReplyRequest};
use super::{plan_file, results};
use crate::control::TurnControl;
use crate::parts::Agent;
use base::model::item::{Item, ItemId, ReminderTopic};
use base::model::usage::{FinishReason, Usage};
use base::process::task;
use base::protocol::event::{EndReason, Event, FailureCause, Level, TurnEnd};
use base::protocol::notice as texts;

/// This many cut-off replies in a row end the turn.
const MOST_CUTS: u32 = 3;

pub struct Turn<'a> {
    pub agent: &'a mut Agent,
    pub control: &'a Arc<TurnControl>,
    steps: u32,
    continued: u32,
    /// Late diagnostics from language servers were already fetched.
    told_late: bool,
    nudges: Nudges,
    /// Protected files, and rules files that appeared, were moved away or are held back.
    set_aside: BTreeSet<String>,
    denied_at_end: bool,
    goal: GoalTurn,
    usage_before: Usage,
}

impl<'a> Turn<'a> {
    pub fn new(agent: &'a mut Agent, control: &'a Arc<TurnControl>) -> Self {
        let usage_before = agent.conversation.usage.total;
        Self {
            agent,
            control,
            steps: 0,
            continued: 0,
            told_late: false,
            nudges: Nudges::default(),
            set_aside: BTreeSet::new(),
            denied_at_end: false,
            goal: GoalTurn::default(),
            usage_before,
        }
    }

    /// Runs the turn to its end and reports it; the conversation is complete on disk afterwards.
    pub async fn run(mut self, opening: impl Into<TurnOpening>) -> TurnEnd {
        let (begun, opening) = (Instant::now(), opening.into());
        self.goal = GoalTurn::begin(self.agent, &opening).await;
        let recorded = Box::pin(self.begin(opening)).await;
        self.nudges = Nudges::of_turn(&self.agent.conversation.facts.work);
        let aside_before = self.moved_away().await;
        let (first, outcome) = match recorded {
            Ok(id) => (id, self.steps_in_time(id.is_some()).await),
            Err(error) => (None, Err(error)),
        };
        let moved = self.moved_away().await.into_iter().filter(|(id, _)| !aside_before.contains_key(id));
        self.set_aside.extend(moved.map(|(_, path)| path.display().to_string()));
        let reason = outcome.unwrap_or_else(|error| self.end_reason(error, first));
        let plan = match reason {
            EndReason::Done => plan_file::keep(self.agent, &self.control.events).await,
            _ => None,
        };
        let Agent { conversation, dispatcher, .. } = &mut *self.agent;
        for (model, usage) in dispatcher.cx.shell.jobs.take_spent() {
            // An unwritable log is reported below.
            let _ = conversation.add_side_usage(&model, &usage);
        }
        let end = TurnEnd {
            reason,
            steps: self.steps,
            denied: dispatcher.take_denied(),
            usage: conversation.usage.total.since(self.usage_before),
            elapsed_ms: begun.elapsed().as_millis() as u64,
            plan: plan.as_ref().map(|plan| plan.path.clone()),
            denied_at_end: self.denied_at_end,
            facts: self.nudges.facts.iter().map(|fact| fact.name.to_owned()).collect(),
            set_aside: self.set_aside.into_iter().collect(),
            services: dispatcher.cx.services.iter().flat_map(|services| services.running()).collect(),
            goal: self.goal.round.map(Box::new),
        };
        // Headless, there is no composer to return the text to.
        let discarded = dispatcher.interactive && conversation.discard_if_empty();
        if !discarded
            && let Err(error) =
                conversation.close_unanswered().and_then(|()| conversation.end_turn(end.clone()))
        {
            // A turn that failed because of the log has already said so.
            if !matches!(end.reason, EndReason::Failed { .. }) {
                self.control.notice(Level::Error, error.to_string());
            }
        }
        goal::report(self.agent, end.goal.as_deref(), &self.control.events);
        let Agent { conversation, dispatcher, window, .. } = self.agent;
        let _ = self.control.events.send(Event::Window(window.state(conversation)));
        let _ = self.control.events.send(Event::TurnEnded(end.clone()));
        if let Some(plan) = plan.filter(|_| dispatcher.interactive) {
            plan_file::ask(plan, dispatcher, self.control).await;
        }
        end
    }

    async fn begin(&mut self, opening: TurnOpening) -> Result<Option<ItemId>, TurnError> {
        let (agent, control) = (&mut *self.agent, self.control);
        agent.input.typed.clear();
        let shown = match &opening {
            TurnOpening::Message(text) => agent.dispatcher.cx.redactor.redact_typed(text).into_owned(),
            TurnOpening::Round { shown, .. } => shown.clone(),
            TurnOpening::Check | TurnOpening::Reports => String::new(),
        };
        let _ = control.events.send(Event::TurnStarted { text: shown });
        match opening {
            TurnOpening::Message(text) => {
                agent.input.typed.push(text.clone());
                begin::ask_hooks(agent, &text, control).await?;
                begin::record_prompt(agent, &text, control).await.map(Some)
            }
            TurnOpening::Round { said, shown } => {
                let id = begin::record_round(agent, said, &shown, &control.events).await?;
                results::first_form(&mut agent.conversation, &agent.window)?;
                Ok(Some(id))
            }
            TurnOpening::Check => Ok(None),
            TurnOpening::Reports => {
                begin::prepare(agent, &control.events).await;
                self.tell_of_agents().await
            }
        }
    }

    async fn moved_away(&self) -> BTreeMap<String, PathBuf> {
        let Agent { dispatcher, input, .. } = &*self.agent;
        if dispatcher.interactive || input.sub_agent {
            return BTreeMap::new();
        }
        let sandbox = Arc::clone(&dispatcher.cx.sandbox);
        task::blocking(move || sandbox.set_aside()).await.unwrap_or_default()
    }

    /// At the deadline, the turn ends as if interrupted.
    async fn steps_in_time(&mut self, asks: bool) -> Result<EndReason, TurnError> {
        let Some(deadline) = self.agent.limits.deadline else { return self.steps_and_check(asks).await };
        let cancel = self.control.cancel.clone();
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, at) = (Arc::clone(&over), deadline.at());
        let clock = task::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            is_over.store(true, Ordering::Relaxed);
            cancel.cancel();
        });
        let ended = self.steps_and_check(asks).await;
        clock.abort();
        match ended {
            Err(TurnError::Interrupted) if over.load(Ordering::Relaxed) => {
                let problem = texts::deadline(&deadline.limit_text());
                Err(TurnError::Failed(problem, FailureCause::Deadline))
            }
            ended => ended,
        }
    }

    async fn steps_and_check(&mut self, asks: bool) -> Result<EndReason, TurnError> {
        let reason = if asks { Box::pin(self.steps()).await? } else { EndReason::Done };
        if reason == EndReason::Done {
            Box::pin(self.goal.check(self.agent, self.control)).await?;
            self.denied_at_end &= !self.goal.passed();
        }
        Ok(reason)
    }

    async fn steps(&mut self) -> Result<EndReason, TurnError> {
        let (mut empty, mut cuts) = (0, 0);
        loop {
            self.take_steering().await?;
            if self.control.cancel.is_cancelled() {
                return Err(TurnError::Interrupted);
            }
            let limit = self.agent.limits.max_steps;
            if self.steps >= limit {
                return Ok(EndReason::StepLimit { limit });
            }
            let spent = self.agent.conversation.usage.total.since(self.usage_before).total();
            if self.agent.limits.max_tokens.is_some_and(|most| spent >= most) {
                return Ok(EndReason::StepLimit { limit: self.steps });
            }
            self.tell_news()?;
            let reply = self.ask().await?;
            self.steps += 1;
            match &reply.finish {
                FinishReason::ContentFilter => return Err(TurnError::filtered(reply.said_something, None)),
                FinishReason::Refused(why) => {
                    return Err(TurnError::filtered(reply.said_something, Some(why)));
                }
                // The model continues from its own unfinished reply.
                FinishReason::Paused if reply.calls.is_empty() && reply.said_something => continue,
                _ => {}
            }
            if !reply.calls.is_empty() {
                if reply.was_cut() {
                    self.control.notice(Level::Warning, texts::OUTPUT_LIMIT_WITH_CALLS.to_owned());
                }
                (empty, cuts) = (0, if reply.was_cut() { cuts } else { 0 });
                self.run_calls(&reply).await?;
                if let Some(why) = begin::stopped(self.agent) {
                    return Err(TurnError::Failed(why, FailureCause::Other));
                }
                self.nudges.repeat(self.agent, self.control)?;
                continue;
            }
            if self.take_steering().await? {
                continue;
            }
            if reply.was_cut() {
                cuts += 1;
                if cuts > MOST_CUTS {
                    return Err(TurnError::output_limit(reply.said_something));
                }
                self.nudges.cut(reply.said_something, self.agent, self.control)?;
                continue;
            }
            if reply.said_something {
                if self.goes_on(&reply.said).await? {
                    continue;
                }
                return Ok(EndReason::Done);
            }
            // Small models sometimes reply with nothing; repeating the request usually helps.
            empty += 1;
            match empty {
                1 => {}
                2 if self.agent.limits.nudges => self.nudges.empty(self.agent, self.control)?,
                _ => return Err(TurnError::empty()),
            }
        }
    }

    /// Whether the turn continues after a reply without calls, because the model should know something. Each reason counts once.
    async fn goes_on(&mut self, said: &str) -> Result<bool, TurnError> {
        if self.tell_of_agents().await?.is_some() || self.nudges.ending(said, self.agent, self.control)? {
            return Ok(true);
        }
        if !std::mem::replace(&mut self.told_late, true) && self.tell_late_findings().await? {
            return Ok(true);
        }
        if self.nudges.finish(said, self.steps, self.agent, self.control).await? {
            return Ok(true);
        }
        // A review is a whole sub-agent: boxed, because nested turns would need too much stack.
        if Box::pin(self.nudges.review(self.steps, self.agent, self.control)).await? {
            return Ok(true);
        }
        let Agent { conversation, dispatcher, .. } = &mut *self.agent;
        let goes_on =
            reminders::end_of_turn(conversation, &dispatcher.hooks, self.continued, self.control).await?;
        self.continued += u32::from(goes_on);
        Ok(goes_on)
    }

    /// Appends what the model must know besides the results.
    fn tell_news(&mut self) -> Result<(), TurnError> {
        let Agent { conversation, window, dispatcher, input, limits, .. } = &mut *self.agent;
        let now = dispatcher.policy.permission();
        reminders::permission(conversation, input.permission.replace(now), now)?;
        if !input.only_reads {
            reminders::mode(conversation, dispatcher.policy.mode(), dispatcher.interactive)?;
        }
        reminders::todos(conversation, &dispatcher.cx.todos)?;
        reminders::steps(conversation, limits.max_steps, self.steps)?;
        reminders::fold(conversation, window)?;
        self.nudges.deadline(self.agent, self.control)
    }

    /// Records reports of background sub-agents. Headless, waits for them, because they would end with the run.
    async fn tell_of_agents(&mut self) -> Result<Option<ItemId>, TurnError> {
        let Agent { conversation, dispatcher, .. } = &mut *self.agent;
        let jobs = &dispatcher.cx.shell.jobs;
        let has_report = tokio::select! {
            has_report = jobs.has_report(!dispatcher.interactive) => has_report,
            () = self.control.cancel.cancelled() => return Err(TurnError::Interrupted),
        };
        let told =
            has_report.then(|| conversation.remind(ReminderTopic::Agents, jobs.take_ended().join("\n")));
        Ok(told.transpose()?)
    }

    /// Records late diagnostics from language servers; returns whether there are any.
    async fn tell_late_findings(&mut self) -> Result<bool, TurnError> {
        let Agent { conversation, dispatcher, .. } = &mut *self.agent;
        let cx = &dispatcher.cx;
        let Some(found) = cx.language_servers.late(&self.control.cancel).await else {
            return Ok(false);
        };
        let found = cx.redactor.redact_typed(&found).into_owned();
        conversation.remind(ReminderTopic::Findings, found)?;
        Ok(true)
    }

    async fn ask(&mut self) -> Result<ModelReply, TurnError> {
        let Agent { conversation, window, sampler, dispatcher, .. } = &mut *self.agent;
        let redactor = &dispatcher.cx.redactor;
        ReplyRequest { conversation, window, sampler, redactor, control: self.control }.ask().await
    }

    /// Work without a turn: the user's commands, or a review of the session's changes.
    pub async fn beside(mut self, reviews: bool) -> Result<(), String> {
        if reviews {
            return self.nudges.review_session(self.agent, self.control).await;
        }
        let done = steering::record_steering(self.agent, self.control).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    async fn take_steering(&mut self) -> Result<bool, TurnError> {
        Ok(steering::record_steering(self.agent, self.control).await?)
    }

    async fn run_calls(&mut self, reply: &ModelReply) -> Result<(), TurnError> {
        let Agent { conversation, window, dispatcher, .. } = &mut *self.agent;
        let (calls, cut) = reply.split_at_cut();
        dispatcher.announce_waiting(calls, &self.control.events);
        let mut touched = Vec::new();
        let mut failed_edit = None;
        let mut queue = dispatcher.queue(calls);
        loop {
            let group = dispatcher.next_group(&mut queue, self.control).await;
            if group.is_empty() {
                break;
            }
            let watched = dispatcher.has_command(&group) || dispatcher.has_background();
            if watched {
                window.prompt.before_command(dispatcher.root()).await;
            }
            let waiting = queue.carried.iter().map(|grouped| &grouped.call).chain(queue.rest);
            let left = group.iter().map(|grouped| &grouped.call).chain(waiting);
            let long = left.filter(|call| !results::is_brief(&dispatcher.name(call))).count();
            let limits = window.sizes(conversation).limits_of_results(long);
            let next = queue.carried.as_mut();
            let results = dispatcher.run_group(group, next, limits, self.control).await;
            if watched {
                window.prompt.after_command(dispatcher.root(), dispatcher.has_background()).await;
                self.set_aside.extend(reminders::tell_of_rules(
                    window,
                    dispatcher.root(),
                    &self.control.events,
                ));
            }
            for mut result in results {
                self.denied_at_end = results::is_denied(&result);
                results::count_failures(&mut result, conversation);
                results::note_failed_edit(&mut result, conversation, &mut failed_edit);
                touched.extend(results::touched(&result, dispatcher.root()));
                results::record(result, conversation, window, &dispatcher.policy, &self.control.events)?;
            }
        }
        if let Some(call) = cut {
            let result = dispatcher.answer_cut(call, &self.control.events);
            let (id, _) = conversation.record(Item::ToolResult(result.clone()))?;
            let _ = self.control.events.send(Event::ToolDone { id, result: Arc::new(result) });
        }
        let sections = window.prompt.rules_of_touched(dispatcher.root(), touched).await;
        reminders::rules_of_touched(conversation, sections)?;
        self.set_aside.extend(reminders::tell_of_rules(window, dispatcher.root(), &self.control.events));
        results::record_pictures(conversation, &dispatcher.cx)?;
        if self.control.cancel.is_cancelled() { Err(TurnError::Interrupted) } else { Ok(()) }
    }

    /// Without a reply, the text of `first` returns to the composer; headless only if a filter refused it.
    fn end_reason(&mut self, error: TurnError, first: Option<ItemId>) -> EndReason {
        let mut prompt_returned = |refused: bool| {
            let Agent { conversation, dispatcher, input, .. } = &mut *self.agent;
            let own = dispatcher.interactive && !input.no_composer && !input.typed.is_empty();
            let to_composer = refused || own;
            input.return_prompt(first, to_composer, conversation, self.control)
        };
        match error {
            TurnError::Interrupted => EndReason::Interrupted { prompt_returned: prompt_returned(false) },
            TurnError::Failed((message, hint), cause) => {
                let Agent { dispatcher, input, .. } = &*self.agent;
                // A hook rejected the message, or the log can't be written.
                let unrecorded = first.is_none() && dispatcher.interactive && !input.typed.is_empty();
                let prompt_returned = unrecorded.then(|| input.typed.join("\n"));
                EndReason::Failed { message, hint, cause, prompt_returned }
            }
            TurnError::Unanswered { problem: (message, hint), cause } => {
                let prompt_returned = prompt_returned(cause == FailureCause::Refused);
                EndReason::Failed { message, hint, cause, prompt_returned }
            }
            TurnError::Provider { error, tries } => {
                let prompt_returned = prompt_returned(error::is_filtered(&error));
                EndReason::ProviderFailed {
                    message: match tries {
                        1 => error.to_string(),
                        _ => format!("{error} (tried {tries} times)"),
                    },
                    hint: error.hint(prompt_returned.is_none()),
                    prompt_returned,
                }
            }
        }
    }
}
