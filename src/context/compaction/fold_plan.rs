//! What leaves the history when room is needed, oldest first: superseded copies at once, results of finished calls by age, and
//! the newest views of files last, since the next edit needs them in one piece. The unit that can be folded is one call with
//! its result, so that files read in one reply go one by one; each round's folded calls are represented by one note. Pure.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::note;
use super::thresholds::Thresholds;
use super::working_set::Views;
use crate::history::entry::HistoryEntry;
use crate::history::manager::HistoryManager;
use crate::history::references;
use crate::session::record::{Batch, Cause, FormName};
use crate::tokens::estimate::{MESSAGE_OVERHEAD, estimate};
use base::model::item::{Item, ItemId, ReminderTopic};
use base::text;

const NOTE_LINE: u64 = 25;

/// Older answers whose ends are longer than this keep only their beginning.
const LONG_ANSWER_BYTES: usize = 2_000;
const ANSWER_CHARS: usize = 400;

#[derive(Clone, Copy, Debug)]
pub struct FoldGoal {
    /// Size of the history to reach, in tokens.
    pub landing: u64,
    /// Where newest views stop leaving; at least the landing.
    pub view_landing: u64,
    /// Calls of the newest requests that stay in any case.
    pub keep_requests: u64,
    /// Sizes as upper bounds instead of estimates.
    pub at_most: bool,
}

impl FoldGoal {
    fn size(&self, entry: &HistoryEntry) -> u64 {
        u64::from(if self.at_most { entry.upper_bound() } else { entry.tokens() })
    }
}

pub struct FoldPlan<'a> {
    entries: &'a [HistoryEntry],
    folded: Vec<bool>,
    /// Index of the entry that carries a note, and its text.
    notes: Vec<(usize, Arc<str>)>,
    /// Old answers to the user by their first and last paragraph.
    answers: Vec<(usize, Arc<str>)>,
    goal: FoldGoal,
}

impl<'a> FoldPlan<'a> {
    pub fn new(history: &'a HistoryManager, limits: &Thresholds, goal: FoldGoal) -> Self {
        let entries = history.entries();
        let rounds = rounds(entries, &history.rounds(), history.turn_start());
        let folded = entries.iter().map(|entry| entry.form() >= FormName::Folded).collect();
        let mut plan = Self { entries, folded, notes: Vec::new(), answers: Vec::new(), goal };
        plan.shorten_answers(&rounds, limits);
        plan.write_notes(&rounds, limits);
        let order = plan.candidates(history, &rounds, limits);
        let mut left = order.iter();
        for _ in 0..3 {
            let mut size = plan.left();
            if size <= goal.landing {
                break;
            }
            while size > goal.landing
                && let Some(&(call, result, newest_view)) = left.next()
            {
                if newest_view && size <= goal.view_landing {
                    break;
                }
                plan.folded[call] = true;
                plan.folded[result] = true;
                let freed = goal.size(&entries[call]) + goal.size(&entries[result]);
                size = size.saturating_sub(freed.saturating_sub(NOTE_LINE));
            }
            plan.fold_around(&rounds, history.requests());
            plan.write_notes(&rounds, limits);
        }
        plan
    }

    pub fn left(&self) -> u64 {
        let text = |text: &str| u64::from(estimate(text) + MESSAGE_OVERHEAD);
        let notes: u64 = self.notes.iter().map(|(_, note)| text(note)).sum();
        let answers: u64 = self.answers.iter().map(|(_, answer)| text(answer)).sum();
        let short: HashSet<usize> = self.answers.iter().map(|(index, _)| *index).collect();
        let stays = (0..self.entries.len()).filter(|index| !self.folded[*index] && !short.contains(index));
        notes + answers + stays.map(|index| self.goal.size(&self.entries[index])).sum::<u64>()
    }

    /// Tokens from the first change on, which must be read uncached once.
    pub fn tail(&self) -> u64 {
        let folded = (0..self.entries.len())
            .find(|index| self.folded[*index] && self.entries[*index].form() < FormName::Folded);
        let noted = self.notes.iter().find(|(index, text)| self.entries[*index].text() != &**text);
        let first =
            folded.into_iter().chain(noted.map(|(index, _)| *index)).min().unwrap_or(self.entries.len());
        let before: u64 = self.entries[..first].iter().map(|entry| u64::from(entry.tokens())).sum();
        self.left().saturating_sub(before)
    }

    /// Calls that may be folded, with their results, in the order in which they go; whether each is a newest view.
    fn candidates(
        &self,
        history: &HistoryManager,
        rounds: &[HistoryRound],
        limits: &Thresholds,
    ) -> Vec<(usize, usize, bool)> {
        let now = history.requests();
        let entries = self.entries;
        let referenced = references::referenced(entries, now, limits.fresh_requests);
        let views = Views::of(history, limits);
        let mut found: Vec<(f64, usize, usize, bool)> = Vec::new();
        for step in rounds.iter().flat_map(|round| &round.steps) {
            for &(call, result) in &step.calls {
                let pair = [&entries[call], &entries[result]];
                let stays = |entry: &&HistoryEntry| entry.pinned || referenced.contains(&entry.id);
                let age = now.saturating_sub(entries[result].arrived_at);
                if self.folded[result] || age < self.goal.keep_requests || pair.iter().any(stays) {
                    continue;
                }
                let weight = views.weight(entries[result].id, limits);
                found.push((age as f64 * weight, call, result, weight < 1.0));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, call, result, newest_view)| (call, result, newest_view)).collect()
    }

    /// Words, reasoning, reminders of steps whose calls are all folded.
    fn fold_around(&mut self, rounds: &[HistoryRound], now: u64) {
        for (number, round) in rounds.iter().enumerate() {
            let finished = number + 1 < rounds.len() || !round.running;
            for (at, step) in round.steps.iter().enumerate() {
                if step.is_answer() {
                    // An answer that more steps follow is no closing one.
                    let old = now.saturating_sub(step.arrived_at(self.entries)) >= self.goal.keep_requests;
                    if at + 1 < round.steps.len() && old {
                        self.fold_all(&step.said);
                    }
                } else if !step.open && step.calls.iter().all(|(_, result)| self.folded[*result]) {
                    self.fold_all(&step.said);
                    self.fold_all(&step.after);
                } else if step.calls.iter().any(|(_, result)| self.folded[*result]) {
                    // Reasoning belongs to the whole reply.
                    let is_thought = |at: &usize| matches!(&*self.entries[*at].item, Item::Reasoning(_));
                    let thoughts: Vec<usize> = step.said.iter().copied().filter(is_thought).collect();
                    self.fold_all(&thoughts);
                }
            }
            if finished && round.steps.first().is_some_and(|step| self.is_folded(step)) {
                self.fold_all(&round.lead);
            }
        }
    }

    fn is_folded(&self, step: &HistoryStep) -> bool {
        !step.calls.is_empty() && step.calls.iter().all(|(_, result)| self.folded[*result])
    }

    fn fold_all(&mut self, indices: &[usize]) {
        for index in indices {
            self.folded[*index] |= !self.entries[*index].pinned;
        }
    }

    fn write_notes(&mut self, rounds: &[HistoryRound], limits: &Thresholds) {
        self.notes.clear();
        for (number, round) in rounds.iter().enumerate() {
            let recent = number + 1 + limits.closing_turns >= rounds.len();
            let most = if recent { limits.note_tokens } else { limits.old_note_tokens };
            let mut members: Vec<usize> = round.lead.clone();
            for step in &round.steps {
                members.extend(&step.said);
                members.extend(step.calls.iter().flat_map(|(call, result)| [call, result]));
                members.extend(&step.after);
            }
            members.sort_unstable();
            members.retain(|index| self.folded[*index]);
            if members.is_empty() {
                continue;
            }
            let Some(anchor) = self.anchor(&members) else {
                for index in members {
                    self.folded[index] = self.entries[index].form() >= FormName::Folded;
                }
                continue;
            };
            let folded: Vec<&HistoryEntry> = members.iter().map(|index| &self.entries[*index]).collect();
            let text = note::render(&folded, limits, most);
            self.notes.push((anchor, text.into()));
        }
        // The newest note says what can still be seen.
        if let Some((_, newest)) = self.notes.last_mut() {
            let entries = self.entries.iter().zip(self.folded.iter().map(|folded| !folded));
            *newest = note::with_views(newest, entries).into();
        }
    }

    /// The first folded entry that doesn't lie between a call in view and its result.
    fn anchor(&self, members: &[usize]) -> Option<usize> {
        let mut open: HashSet<&Arc<str>> = HashSet::new();
        let mut at = 0;
        for index in members {
            for (between, entry) in self.entries.iter().enumerate().take(*index).skip(at) {
                let Some(id) = entry.call_id().filter(|_| !self.folded[between]) else { continue };
                match &*entry.item {
                    Item::ToolCall(_) => open.insert(id),
                    _ => open.remove(id),
                };
            }
            at = *index;
            if open.is_empty() {
                return Some(*index);
            }
        }
        None
    }

    fn shorten_answers(&mut self, rounds: &[HistoryRound], limits: &Thresholds) {
        let finished = rounds.len().saturating_sub(1 + limits.closing_turns);
        for step in rounds.iter().take(finished).filter_map(|round| round.steps.last()) {
            for index in step.said.iter().filter(|_| step.is_answer()) {
                let entry = &self.entries[*index];
                if let Item::Assistant { text, .. } = &*entry.item
                    && entry.form() == FormName::Full
                    && !entry.pinned
                    && let Some(short) = ends(entry.id, text)
                {
                    self.answers.push((*index, short.into()));
                }
            }
        }
    }

    /// Only what differs from what is sent now.
    pub fn batches(&self, cause: &Cause) -> Vec<Batch> {
        let anchors: HashSet<usize> = self.notes.iter().map(|(index, _)| *index).collect();
        let mut notes: Vec<(ItemId, Arc<str>)> = Vec::new();
        for (index, text) in &self.notes {
            let entry = &self.entries[*index];
            if entry.form() != FormName::Note || entry.text() != &**text {
                notes.push((entry.id, Arc::clone(text)));
            }
        }
        let gone = (0..self.entries.len()).filter(|index| self.folded[*index] && !anchors.contains(index));
        let gone = gone.filter(|index| self.entries[*index].form() != FormName::Gone);
        let gone: Vec<ItemId> = gone.map(|index| self.entries[index].id).collect();
        let answers = self.answers.iter().map(|(index, text)| (self.entries[*index].id, Arc::clone(text)));
        let mut batches = vec![
            Batch::with_texts(answers.collect(), FormName::Pointer, cause.clone()),
            Batch::with_texts(notes, FormName::Note, cause.clone()),
            Batch::plain(gone, FormName::Gone, cause.clone()),
        ];
        batches.retain(|batch| !batch.items.is_empty());
        batches
    }
}

/// The first and the last paragraph of a long answer; of an endless one, its beginning.
fn ends(id: ItemId, answer: &str) -> Option<String> {
    let paragraphs: Vec<&str> = answer.split("\n\n").filter(|part| !part.trim().is_empty()).collect();
    let short = match paragraphs[..] {
        [first, .., last] if paragraphs.len() > 2 => format!("{first}\n\n[… {id}]\n\n{last}"),
        _ => String::new(),
    };
    let short = match short.len() {
        1..=LONG_ANSWER_BYTES => short,
        _ => format!("{} [{id}]", text::elide(answer, ANSWER_CHARS)),
    };
    (short.len() * 3 < answer.len() * 2).then_some(short)
}

#[derive(Clone, Debug, Default)]
struct HistoryStep {
    said: Vec<usize>,
    calls: Vec<(usize, usize)>,
    /// Reminders and pictures after it. Rules stay: they apply to the whole session.
    after: Vec<usize>,
    /// A call without a result: the step is still running.
    open: bool,
}

impl HistoryStep {
    fn is_answer(&self) -> bool {
        self.calls.is_empty() && !self.open
    }

    fn arrived_at(&self, entries: &[HistoryEntry]) -> u64 {
        let first = self.said.first().or(self.calls.first().map(|(call, _)| call));
        first.map_or(0, |index| entries[*index].arrived_at)
    }
}

#[derive(Clone, Debug, Default)]
struct HistoryRound {
    lead: Vec<usize>,
    steps: Vec<HistoryStep>,
    running: bool,
}

/// The rounds of the history, oldest first; what precedes the first user message belongs to none.
fn rounds(entries: &[HistoryEntry], ranges: &[Range<usize>], turn_start: usize) -> Vec<HistoryRound> {
    ranges.iter().map(|range| round(entries, range.clone(), range.start >= turn_start)).collect()
}

fn round(entries: &[HistoryEntry], range: Range<usize>, running: bool) -> HistoryRound {
    let mut round = HistoryRound { running, ..HistoryRound::default() };
    let mut step: Option<HistoryStep> = None;
    let mut open: Vec<usize> = Vec::new();
    let mut answered = true;
    for index in range {
        match &*entries[index].item {
            Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_) => {
                if answered {
                    close(&mut round, step.take(), &mut open);
                }
                answered = false;
                let step = step.get_or_insert_default();
                match &*entries[index].item {
                    Item::ToolCall(_) => open.push(index),
                    _ => step.said.push(index),
                }
            }
            Item::ToolResult(_) => {
                answered = true;
                let id = entries[index].call_id();
                if let Some(step) = &mut step
                    && let Some(at) = open.iter().position(|call| entries[*call].call_id() == id)
                {
                    step.calls.push((open.remove(at), index));
                }
            }
            Item::Reminder(reminder) if reminder.about == ReminderTopic::Rules => answered = true,
            Item::Reminder(_) | Item::Image(_) => {
                answered = true;
                match &mut step {
                    Some(step) => step.after.push(index),
                    None => round.lead.push(index),
                }
            }
            Item::User(_) | Item::Summary(_) => answered = true,
        }
    }
    close(&mut round, step, &mut open);
    round
}

fn close(round: &mut HistoryRound, step: Option<HistoryStep>, open: &mut Vec<usize>) {
    let Some(mut step) = step else { return };
    step.open = !open.is_empty();
    open.clear();
    round.steps.push(step);
}
