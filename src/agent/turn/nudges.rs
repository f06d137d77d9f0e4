//! Reminders that the program sends on its own initiative, each once, after the newest item. A turn that goes well
//! gets none.

use super::error::TurnError;
use super::finish::{self, Audience, Fact};
use super::input::begin;
use super::{endings, repeats, review};
use crate::control::TurnControl;
use crate::parts::Agent;
use crate::work::claims;
use crate::work::work_log::WorkLog;
use base::model::item::ReminderTopic;
use base::protocol::event::{Event, FailureCause, Nudge};
use base::protocol::notice as texts;

/// Limit for all kinds together; after that the turn just ends.
const MOST: usize = 6;
const FALSE_REPORTS: [&str; 4] = ["failed_check", "claimed_tests", "failed_edit", "nothing_changed"];
/// Repetitions of a failing call before the model is told, and before a headless turn ends.
const REPEATS: (usize, usize) = (5, 12);
const WAITS: (usize, usize) = (9, 30);
/// Rounds of a cycle of two or three calls with the same results.
const ROUNDS_TOLD: usize = 4;

#[derive(Default)]
pub struct Nudges {
    told: Vec<ReminderTopic>,
    repeats: Vec<u64>,
    finished: bool,
    told_facts: Vec<&'static str>,
    pub facts: Vec<Fact>,
    deadline_stage: u8,
    reviewed: bool,
}

impl Nudges {
    /// A turn that continues after a stop isn't told the same things again.
    pub fn of_turn(work: &WorkLog) -> Self {
        let told: Vec<ReminderTopic> = work.reminded().filter(|topic| topic.is_nudge()).collect();
        Self { finished: told.contains(&ReminderTopic::Finish), told, ..Self::default() }
    }

    fn may(&self, kind: ReminderTopic, most: usize) -> bool {
        self.told.len() < MOST && self.told.iter().filter(|told| **told == kind).count() < most
    }

    fn tell(
        &mut self,
        (kind, text, short): (ReminderTopic, String, String),
        agent: &mut Agent,
        control: &TurnControl,
    ) -> Result<(), TurnError> {
        agent.conversation.remind(kind, text.as_str())?;
        self.told.push(kind);
        let n = self.told.len() as u32;
        let of_facts = self.facts.iter().filter(|_| kind == ReminderTopic::Finish);
        let facts = of_facts.map(|fact| fact.name.to_owned()).collect();
        let _ = control.events.send(Event::Nudge(Nudge { kind, n, text, short, facts }));
        Ok(())
    }

    fn reminded(&self, of: &str) -> String {
        let whom = if self.told.is_empty() { " the model" } else { "" };
        format!("reminded{whom}: {of}")
    }

    pub fn cut(
        &mut self,
        said_something: bool,
        agent: &mut Agent,
        control: &TurnControl,
    ) -> Result<(), TurnError> {
        let limit = agent.sampler.params.max_output_tokens;
        let limit = limit.map_or(String::new(), |tokens| format!(" ({tokens} tokens)"));
        let text = match said_something {
            true => format!("The output limit{limit} ended your reply. Pick up at its last word and repeat nothing."),
            false => "You reached the output limit while thinking, and nothing was kept. Think less: make the next call now."
                .to_owned(),
        };
        let short = "the reply was cut at the output limit; continuing".to_owned();
        self.tell((ReminderTopic::Cut, text, short), agent, control)
    }

    pub fn empty(&mut self, agent: &mut Agent, control: &TurnControl) -> Result<(), TurnError> {
        let text =
            "Your last two replies had neither text nor a call. Make the next call, or say what is done."
                .to_owned();
        self.tell((ReminderTopic::Ending, text, self.reminded("the reply was empty")), agent, control)
    }

    pub fn ending(
        &mut self,
        said: &str,
        agent: &mut Agent,
        control: &TurnControl,
    ) -> Result<bool, TurnError> {
        let asked = finish::asked(&agent.conversation);
        let settled =
            agent.conversation.facts.work.first_change().is_some() || claims::asks_something(&asked);
        let headless = !agent.dispatcher.interactive;
        let Some(ending) = endings::of(said, headless, settled) else { return Ok(false) };
        if !agent.limits.nudges || !self.may(ReminderTopic::Ending, 1) {
            return Ok(false);
        }
        let (words, short) = ending.said();
        self.tell((ReminderTopic::Ending, words.to_owned(), self.reminded(short)), agent, control)?;
        Ok(true)
    }

    pub async fn finish(
        &mut self,
        said: &str,
        steps: u32,
        agent: &mut Agent,
        control: &TurnControl,
    ) -> Result<bool, TurnError> {
        let Agent { conversation, dispatcher, input, limits, .. } = &*agent;
        let reads_only = dispatcher.policy.mode().only_reads();
        let has_goal = conversation.state.history.goal().is_some();
        if input.sub_agent || has_goal || !limits.nudges || reads_only || !limits.leave_room(steps) {
            return Ok(false);
        }
        let audience = Audience { headless: !dispatcher.interactive, has_schema: limits.has_schema };
        self.facts = finish::facts(conversation, &dispatcher.cx, said, audience).await;
        // Tell only once, except for claims that have become false since.
        let is_new =
            |fact: &Fact| FALSE_REPORTS.contains(&fact.name) && !self.told_facts.contains(&fact.name);
        let again = std::mem::replace(&mut self.finished, true) && !self.facts.iter().any(is_new);
        if again || self.facts.is_empty() || self.told.len() >= MOST {
            return Ok(false);
        }
        self.told_facts.extend(self.facts.iter().map(|fact| fact.name));
        let lines: Vec<&str> = self.facts.iter().map(|fact| fact.line.trim_end_matches('.')).collect();
        let short = self.reminded(&lines.join("; ").replace('`', ""));
        let text = finish::reminder(&self.facts);
        self.tell((ReminderTopic::Finish, text, short), agent, control)?;
        Ok(true)
    }

    /// Returns whether a reviewer found something. Runs once, after finish facts are settled.
    pub async fn review(
        &mut self,
        steps: u32,
        agent: &mut Agent,
        control: &TurnControl,
    ) -> Result<bool, TurnError> {
        if !agent.limits.wants_review(steps) || std::mem::replace(&mut self.reviewed, true) {
            return Ok(false);
        }
        let told = review::review(agent, true, control).await?;
        let goes_on = told.is_some();
        if let Some(text) = told {
            agent.conversation.remind(ReminderTopic::Review, text)?;
        }
        Ok(goes_on)
    }

    /// Runs the user's `/review`; its findings are sent with the next message.
    pub async fn review_session(&mut self, agent: &mut Agent, control: &TurnControl) -> Result<(), String> {
        begin::prepare(agent, &control.events).await;
        let told = match review::review(agent, false, control).await {
            Ok(told) => told,
            Err(TurnError::Failed((message, _), _)) => return Err(message),
            Err(_) => return Ok(()),
        };
        agent.input.reminder = told.map(|told| format!("<system-reminder>{told}</system-reminder>"));
        Ok(())
    }

    /// Tells the model that it repeats itself; ends a headless turn that keeps doing so.
    pub fn repeat(&mut self, agent: &mut Agent, control: &TurnControl) -> Result<(), TurnError> {
        let Agent { conversation, dispatcher, limits, .. } = &*agent;
        let Some(repeat) = repeats::of(conversation.facts.work.calls()).filter(|_| limits.nudges) else {
            return Ok(());
        };
        let (told, end) = if repeat.waits { WAITS } else { REPEATS };
        if repeat.failures >= end && !dispatcher.interactive {
            return Err(TurnError::Failed(texts::stuck(&repeat.shown, repeat.failures), FailureCause::Stuck));
        }
        let is_new = !repeat.calls.iter().any(|call| self.repeats.contains(call));
        let circles = repeat.failures >= told || repeat.rounds >= ROUNDS_TOLD;
        if !circles || !is_new || !self.may(ReminderTopic::Repeat, usize::MAX) {
            return Ok(());
        }
        self.repeats.extend(&repeat.calls);
        let short = self.reminded(&format!("repeats {}", repeat.shown));
        self.tell((ReminderTopic::Repeat, repeat.words(), short), agent, control)
    }

    /// Reminds of the deadline when most of the time is used, and again when it is almost over.
    pub fn deadline(&mut self, agent: &mut Agent, control: &TurnControl) -> Result<(), TurnError> {
        let Some(deadline) = agent.limits.deadline else { return Ok(()) };
        let stage = deadline.stage();
        if stage <= self.deadline_stage {
            return Ok(());
        }
        self.deadline_stage = stage;
        let text = deadline.words(stage);
        let short = self.reminded(&text);
        self.tell((ReminderTopic::Deadline, text, short), agent, control)
    }
}
