//! What leaves the history when room is needed: superseded copies first, then results of finished calls by age, then the
//! newest views of files, because the next edit needs them. The unit is one call with its result; one note stands for
//! everything that leaves a round together. Pure.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::note;
use super::renewed::renewed;
use super::thresholds::Thresholds;
use super::working_set::{self, STALE_WEIGHT, Views};
use crate::history::entry::{HistoryEntry, tokens_of};
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
    /// History size to reach, in tokens.
    pub landing: u64,
    /// The size at which newest views stop leaving; at least `landing`.
    pub view_landing: u64,
    /// Calls of this many newest requests always stay.
    pub keep_requests: u64,
    /// Measures sizes as upper bounds instead of estimates.
    pub at_most: bool,
}

impl FoldGoal {
    fn size(&self, entry: &HistoryEntry) -> u64 {
        u64::from(if self.at_most { entry.upper_bound() } else { entry.tokens() })
    }
}

/// A text with its size: plans are measured over and over.
#[derive(Clone)]
struct NewText {
    form: FormName,
    text: Arc<str>,
    tokens: u64,
}

impl NewText {
    fn new(form: FormName, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let tokens = u64::from(estimate(&text) + MESSAGE_OVERHEAD);
        Self { form, text, tokens }
    }
}

/// The notes written so far, by their entries and size limit: most plans of a request fold most rounds alike.
type Notes = RefCell<HashMap<(Vec<usize>, u64), NewText>>;

pub struct FoldPlan<'a> {
    entries: &'a [HistoryEntry],
    folded: Vec<bool>,
    /// New texts for entries: notes, shortened old answers, views updated with folded edits.
    texts: BTreeMap<usize, NewText>,
    notes: Rc<Notes>,
    /// Entries that stay as sent, or that an earlier note already covers.
    settled: Vec<bool>,
    goal: FoldGoal,
}

impl<'a> FoldPlan<'a> {
    pub fn new(history: &'a HistoryManager, limits: &Thresholds, goal: FoldGoal) -> Self {
        Self::make(history, 0, limits, goal, Rc::default())
    }

    /// Another plan that leaves everything before entry `first` unchanged, and so in the prompt cache.
    pub fn starting_at(
        &self,
        first: usize,
        history: &'a HistoryManager,
        limits: &Thresholds,
        goal: FoldGoal,
    ) -> Self {
        Self::make(history, first, limits, goal, Rc::clone(&self.notes))
    }

    fn make(
        history: &'a HistoryManager,
        first: usize,
        limits: &Thresholds,
        goal: FoldGoal,
        notes: Rc<Notes>,
    ) -> Self {
        let entries = history.entries();
        let round = |range: Range<usize>| round(entries, range.clone(), range.start >= history.turn_start());
        // Entries before the first user message belong to no round.
        let rounds: Vec<HistoryRound> = history.rounds().into_iter().map(round).collect();
        let folded = entries.iter().map(|entry| entry.form() >= FormName::Folded).collect();
        let mut is_told = first > 0;
        let settled = entries.iter().enumerate().map(|(at, entry)| {
            is_told &= at < first || entry.form() != FormName::Note;
            at < first || is_told && entry.form() >= FormName::Folded
        });
        let settled = settled.collect();
        let mut plan = Self { entries, folded, texts: BTreeMap::new(), notes, settled, goal };
        // If an earlier note covers a call, it also covers its result, which may come after the next note.
        for &(call, result) in rounds.iter().flat_map(|round| &round.steps).flat_map(|step| &step.calls) {
            plan.settled[result] |= plan.settled[call] && plan.folded[call] && plan.folded[result];
        }
        plan.shorten_answers(&rounds, limits);
        plan.write_notes(&rounds, limits);
        let order = plan.candidates(history, &rounds, limits);
        let mut left = order.iter().peekable();
        for _ in 0..3 {
            let mut size = plan.left();
            if size <= goal.landing {
                break;
            }
            while size > goal.landing
                && let Some(&(call, result, _)) = left.next_if(|next| !next.2 || size > goal.view_landing)
            {
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
        let size = |index: usize| match self.texts.get(&index) {
            Some(new) => new.tokens,
            None if self.folded[index] && !self.settled[index] => 0,
            None => self.goal.size(&self.entries[index]),
        };
        (0..self.entries.len()).map(size).sum()
    }

    /// Tokens from the first change on, which must be read uncached.
    pub fn tail(&self) -> u64 {
        let first = (0..self.entries.len()).find(|index| match self.texts.get(index) {
            Some(_) => self.new_text(*index).is_some(),
            None => self.folded[*index] && self.entries[*index].form() < FormName::Folded,
        });
        let before = &self.entries[..first.unwrap_or(self.entries.len())];
        self.left().saturating_sub(tokens_of(before))
    }

    /// The entry's new text, if it differs from what is sent now.
    fn new_text(&self, index: usize) -> Option<&NewText> {
        let (new, entry) = (self.texts.get(&index)?, &self.entries[index]);
        (entry.form() != new.form || entry.text() != &*new.text).then_some(new)
    }

    /// Foldable calls with their results, in folding order; `true` for the newest views of files.
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
        // A view that can't be updated needs the edits after it.
        let is_shown = |at: &usize| self.settled[*at] && entries[*at].form() <= FormName::Filtered;
        let shown = (0..entries.len()).filter(is_shown);
        let viewed: HashSet<&str> =
            shown.filter_map(|at| working_set::viewed_path(&entries[at].item)).collect();
        let mut found: Vec<(f64, usize, usize, bool)> = Vec::new();
        for step in rounds.iter().flat_map(|round| &round.steps) {
            for &(call, result) in &step.calls {
                let pair = [&entries[call], &entries[result]];
                let stays = |entry: &&HistoryEntry| entry.pinned || referenced.contains(&entry.id);
                let age = now.saturating_sub(entries[result].arrived_at);
                let weight = views.weight(entries[result].id);
                // Stale results only have to be seen once.
                let keep = match weight >= STALE_WEIGHT {
                    true => self.goal.keep_requests.min(1),
                    false => self.goal.keep_requests,
                };
                let changed = working_set::changed_path(&entries[result].item);
                let is_fixed = self.settled[call] || changed.is_some_and(|(path, _)| viewed.contains(path));
                if self.folded[result] || age < keep || is_fixed || pair.iter().any(stays) {
                    continue;
                }
                found.push((age as f64 * weight, call, result, weight < 1.0));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, call, result, newest_view)| (call, result, newest_view)).collect()
    }

    /// Folds the agent's words and reasoning up to the last step that lost a call, and reminders after steps that lost all calls.
    fn fold_around(&mut self, rounds: &[HistoryRound], now: u64) {
        for (number, round) in rounds.iter().enumerate() {
            let finished = number + 1 < rounds.len() || !round.running;
            let leaves = |step: &HistoryStep| step.calls.iter().any(|(_, result)| self.folded[*result]);
            let last = round.steps.iter().rposition(leaves);
            for (at, step) in round.steps.iter().enumerate() {
                if step.is_answer() {
                    // More steps follow, so this isn't the closing answer.
                    let old = now.saturating_sub(step.arrived_at(self.entries)) >= self.goal.keep_requests;
                    if at + 1 < round.steps.len() && old {
                        self.fold_all(&step.said);
                    }
                } else if Some(at) <= last {
                    // Remaining words must come after the note, so that they are read in order.
                    self.fold_all(&step.said);
                    if self.is_folded(step) {
                        self.fold_all(&step.after);
                    }
                }
                if last.is_some() {
                    let past = step.after.iter().copied().filter(|at| self.is_past(*at, finished));
                    self.fold_all(&past.collect::<Vec<_>>());
                }
            }
            if finished && round.steps.first().is_some_and(|step| self.is_folded(step)) {
                self.fold_all(&round.lead);
            }
        }
    }

    /// A state of the to-do list before the newest, or a nudge of a turn that has ended.
    fn is_past(&self, at: usize, finished: bool) -> bool {
        let topic = |entry: &HistoryEntry| match &*entry.item {
            Item::Reminder(reminder) => Some(reminder.about),
            _ => None,
        };
        match topic(&self.entries[at]) {
            Some(ReminderTopic::Todos) => {
                self.entries[at + 1..].iter().any(|later| topic(later) == Some(ReminderTopic::Todos))
            }
            Some(about) => finished && about.is_nudge(),
            None => false,
        }
    }

    fn is_folded(&self, step: &HistoryStep) -> bool {
        !step.calls.is_empty() && step.calls.iter().all(|(_, result)| self.folded[*result])
    }

    fn fold_all(&mut self, indices: &[usize]) {
        for index in indices {
            self.folded[*index] |= !self.entries[*index].pinned && !self.settled[*index];
        }
    }

    /// Updates views with folded edits. Limited to one round because a round is undone as a whole.
    fn renew_views(&mut self, rounds: &[HistoryRound]) {
        let entries = self.entries;
        let bases: HashSet<ItemId> = entries.iter().flat_map(references::of).collect();
        for round in rounds {
            let calls = round.steps.iter().flat_map(|step| &step.calls);
            let results: Vec<usize> = calls.map(|(_, result)| *result).collect();
            let is_open = |view: &usize| !self.folded[*view] && !self.settled[*view];
            for (at, &view) in results.iter().enumerate().filter(|(_, view)| is_open(view)) {
                let later = results[at + 1..].iter().map(|later| (&entries[*later], self.folded[*later]));
                let is_free = !entries[view].pinned && !bases.contains(&entries[view].id);
                if let Some(text) = is_free.then(|| renewed(&entries[view], later)).flatten() {
                    self.texts.insert(view, NewText::new(FormName::Filtered, text));
                }
            }
        }
    }

    fn write_notes(&mut self, rounds: &[HistoryRound], limits: &Thresholds) {
        self.texts.retain(|_, new| new.form == FormName::Pointer);
        self.renew_views(rounds);
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
            members.retain(|index| self.folded[*index] && !self.settled[*index]);
            if members.is_empty() {
                continue;
            }
            let Some(anchor) = self.anchor(round.start, &members) else {
                for index in members {
                    self.folded[index] = self.entries[index].form() >= FormName::Folded;
                }
                continue;
            };
            let render = |members: &[usize]| {
                let folded: Vec<&HistoryEntry> = members.iter().map(|index| &self.entries[*index]).collect();
                NewText::new(FormName::Note, note::render(&folded, limits, most))
            };
            let mut notes = self.notes.borrow_mut();
            let note = notes.entry((members, most)).or_insert_with_key(|(members, _)| render(members));
            self.texts.insert(anchor, note.clone());
        }
        // Only the newest note says what is still in view.
        let views = self.entries.iter().enumerate().map(|(index, entry)| {
            let renewed = self.texts.get(&index).filter(|new| new.form == FormName::Filtered);
            (entry, !self.folded[index], renewed.map(|new| &*new.text))
        });
        let views = note::views(views);
        let newest = self.texts.values_mut().rfind(|new| new.form == FormName::Note);
        if let (Some(newest), Some(views)) = (newest, views) {
            let open = newest.text.strip_suffix(']').unwrap_or(&newest.text);
            *newest = NewText::new(FormName::Note, format!("{open}{views}]"));
        }
    }

    /// The first folded entry that doesn't lie between a call in view and its result.
    fn anchor(&self, start: usize, members: &[usize]) -> Option<usize> {
        let mut open: HashSet<&Arc<str>> = HashSet::new();
        let mut at = start;
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
            for index in step.said.iter().filter(|index| step.is_answer() && !self.settled[**index]) {
                let entry = &self.entries[*index];
                if let Item::Assistant { text, .. } = &*entry.item
                    && entry.form() == FormName::Full
                    && !entry.pinned
                    && let Some(short) = ends(entry.id, text)
                {
                    self.texts.insert(*index, NewText::new(FormName::Pointer, short));
                }
            }
        }
    }

    /// The changes only: entries whose form or text differs from what is sent now.
    pub fn batches(&self, cause: &Cause) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        for form in [FormName::Pointer, FormName::Filtered, FormName::Note] {
            let texts = self.texts.keys().filter_map(|index| {
                let new = self.new_text(*index).filter(|new| new.form == form)?;
                Some((self.entries[*index].id, Arc::clone(&new.text)))
            });
            batches.push(Batch::with_texts(texts.collect(), form, cause.clone()));
        }
        let leaves = |at: &usize| self.folded[*at] && !self.settled[*at] && !self.texts.contains_key(at);
        let gone = (0..self.entries.len()).filter(leaves);
        let gone = gone.map(|at| &self.entries[at]).filter(|entry| entry.form() != FormName::Gone);
        batches.push(Batch::plain(gone.map(|entry| entry.id).collect(), FormName::Gone, cause.clone()));
        batches.retain(|batch| !batch.items.is_empty());
        batches
    }
}

/// The first and last paragraph of a long answer; only the beginning if those are too long as well.
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
    /// Reminders and images after it. Rules stay because they apply to the whole session.
    after: Vec<usize>,
    /// A call has no result yet: the step is still running.
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
    start: usize,
    lead: Vec<usize>,
    steps: Vec<HistoryStep>,
    running: bool,
}

fn round(entries: &[HistoryEntry], range: Range<usize>, running: bool) -> HistoryRound {
    let mut round = HistoryRound { start: range.start, running, ..HistoryRound::default() };
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
            // Folds with the words before it.
            Item::Reminder(reminder) if reminder.about == ReminderTopic::Fold => {
                answered = true;
                step.get_or_insert_default().said.push(index);
            }
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
