//! One turn: the ReAct loop. Ask the model, run its calls, repeat until it has nothing more to do. The turn owns the
//! conversation while it runs; interrupts and steering reach it through its control.

use std::sync::Arc;
use std::time::Instant;

use super::error::TurnError;
use crate::agent::control::{Events, TurnControl, notice};
use crate::agent::core::Core;
use crate::base::clock;
use crate::base::text::one_line;
use crate::context::history::ingest;
use crate::model::call::ToolCall;
use crate::model::item::{Item, ItemId};
use crate::model::usage::{FinishReason, Usage};
use crate::protocol::event::{EndReason, Event, Level, TurnEnd};
use crate::provider::api::ProviderError;
use crate::redact::detector::TextSource;
use crate::session::log::LogError;

/// Answers with nothing in them, in a row, after which a turn ends.
const EMPTY_TRIES: u32 = 2;

impl Core {
    /// Runs a turn to its end and reports it; the conversation is complete on disk afterwards.
    pub async fn run_turn(&mut self, text: String, control: &Arc<TurnControl>, events: &Events) -> TurnEnd {
        let begun = Instant::now();
        let usage_before = self.conversation.total();
        let mut steps = 0;
        self.typed = vec![text.clone()];
        let shown = self.dispatcher.cx.vault.redact_typed(&text).into_owned();
        let _ = events.send(Event::TurnStarted { text: shown });
        let news = self.dispatcher.file_news().await;
        let news = news.map(|news| format!("<system-reminder>{news}</system-reminder>"));
        // What was said before has its files with it already.
        let context = if self.is_said_again(&text) { None } else { self.task_context(&text).await };
        let (first, outcome) = match self.begin(&text, [context, news], events) {
            Ok(id) => (Some(id), self.steps(&mut steps, control, events).await),
            Err(error) => (None, Err(error.into())),
        };
        let reason = match outcome {
            Ok(reason) => reason,
            Err(TurnError::Interrupted) => {
                EndReason::Interrupted { prompt_returned: self.take_back(first, false, control) }
            }
            Err(TurnError::Failed { message, hint }) => {
                EndReason::Failed { message, hint, prompt_returned: None }
            }
            Err(TurnError::Unanswered { message, hint, refused }) => {
                let prompt_returned = self.take_back(first, refused, control);
                EndReason::Failed { message, hint, prompt_returned }
            }
            Err(TurnError::NoRoom) => {
                let message = "the answer came to the end of the window".to_owned();
                let hint = "run /compact, then say \"go on\"".to_owned();
                EndReason::Failed { message, hint, prompt_returned: None }
            }
            Err(TurnError::Provider { error, tries }) => {
                let refused = matches!(error, ProviderError::BadRequest { .. });
                let prompt_returned = self.take_back(first, refused, control);
                EndReason::ProviderFailed {
                    message: match tries {
                        1 => error.to_string(),
                        _ => format!("{error} (tried {tries} times)"),
                    },
                    hint: error.hint(prompt_returned.is_none()),
                    prompt_returned,
                }
            }
        };
        let end = TurnEnd {
            reason,
            steps,
            denied: self.dispatcher.take_denied(),
            usage: since(self.conversation.total(), usage_before),
            elapsed_ms: clock::milliseconds(begun.elapsed()),
        };
        // Headless there is no other place that the text could go to.
        let discarded = self.dispatcher.is_interactive() && self.conversation.discard_if_empty();
        if !discarded && let Err(error) = self.conversation.end_turn(end.clone()) {
            // A turn that failed because of the log says so itself.
            if !matches!(end.reason, EndReason::Failed { .. }) {
                notice(events, Level::Error, error.to_string());
            }
        }
        let _ = events
            .send(Event::Window(self.conversation.window(self.last_estimate, self.context.window_tokens)));
        let _ = events.send(Event::TurnEnded(end.clone()));
        end
    }

    /// Looks at the rules again and writes the user's message, with what belongs behind it.
    fn begin(
        &mut self,
        text: &str,
        behind: [Option<String>; 2],
        events: &Events,
    ) -> Result<ItemId, LogError> {
        if self.law.refresh(self.dispatcher.root()) && self.conversation.prefix.requests() > 0 {
            let text = "The project's rules changed on disk; the model has the new ones from here on.";
            notice(events, Level::Info, text.to_owned());
        }
        if self.law.take_cut() {
            let text = format!(
                "The rules files take more than a quarter of the window ({} tokens): the model sees their beginning. \
                 Shorten them, or set a larger context_window.",
                self.context.window_tokens
            );
            notice(events, Level::Warning, text);
        }
        let mut message = match self.take_waiting(text)? {
            Some(message) => message,
            None => self.user_message(text, false, behind[0].as_deref()),
        };
        message.injected.extend(self.reminder.take().map(Into::into));
        for block in behind.into_iter().flatten() {
            message.injected.push(self.dispatcher.cx.vault.redact(&block, TextSource::Text).into());
        }
        let title = one_line(&message.text, 200);
        let id = self.conversation.record(Item::User(message))?.0;
        if let Some(journal) = &self.dispatcher.cx.journal {
            journal.begin_turn(id.0, &title);
        }
        Ok(id)
    }

    async fn steps(
        &mut self,
        steps: &mut u32,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<EndReason, TurnError> {
        let mut empty = 0;
        loop {
            self.take_steering(control, events)?;
            if control.cancel.is_cancelled() {
                return Err(TurnError::Interrupted);
            }
            if *steps >= self.max_steps {
                return Ok(EndReason::StepLimit { limit: self.max_steps });
            }
            let reply = self.ask(control, events).await?;
            *steps += 1;
            if reply.finish == FinishReason::ContentFilter {
                return Err(TurnError::filtered(reply.said_something));
            }
            if !reply.calls.is_empty() {
                if reply.finish == FinishReason::Length {
                    let text =
                        "The answer was cut at the model's output limit; the calls that came whole are run.";
                    notice(events, Level::Warning, text.to_owned());
                }
                empty = 0;
                self.run_calls(&reply.calls, control, events).await?;
                continue;
            }
            if self.take_steering(control, events)? {
                continue;
            }
            if reply.finish == FinishReason::Length {
                return Err(if reply.said_something { TurnError::cut() } else { TurnError::only_thought() });
            }
            if reply.said_something {
                return Ok(EndReason::Done);
            }
            // Small models answer with nothing now and then; the same request once more mostly helps.
            empty += 1;
            if empty >= EMPTY_TRIES {
                return Err(TurnError::empty());
            }
        }
    }

    /// Takes up what was typed meanwhile; returns whether there was anything.
    fn take_steering(&mut self, control: &TurnControl, events: &Events) -> Result<bool, TurnError> {
        let mut any = false;
        for text in control.take_steering() {
            self.typed.push(text.clone());
            let message = self.user_message(&text, true, None);
            let text = message.text.to_string();
            self.conversation.record(Item::User(message))?;
            let _ = events.send(Event::Steered { text });
            any = true;
        }
        Ok(any)
    }

    async fn run_calls(
        &mut self,
        calls: &[Arc<ToolCall>],
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<(), TurnError> {
        for group in self.dispatcher.groups(calls) {
            let results =
                self.dispatcher.run_group(group, control, events).await.map_err(|message| {
                    TurnError::Failed { message, hint: "see the message above".to_owned() }
                })?;
            for result in results {
                let (id, item) = self.conversation.record(Item::ToolResult(result))?;
                // The log keeps the whole result; what is sent first may be less of it.
                let history = &self.conversation.history;
                let filtered = ingest::on_arrival(history, self.context.profile, self.context.window_tokens);
                if let Some(batch) = filtered {
                    self.conversation.adopt(&batch)?;
                }
                if let Item::ToolResult(result) = &*item {
                    let _ = events.send(Event::ToolDone { id, result: Arc::new(result.clone()) });
                }
            }
        }
        // Asked for now, the counts may be there when the next request is built.
        self.take_counts();
        if control.cancel.is_cancelled() { Err(TurnError::Interrupted) } else { Ok(()) }
    }
}

fn since(now: Usage, before: Usage) -> Usage {
    Usage {
        input: now.input - before.input,
        cached: now.cached - before.cached,
        cache_write: now.cache_write - before.cache_write,
        output: now.output - before.output,
        reasoning: now.reasoning - before.reasoning,
    }
}
