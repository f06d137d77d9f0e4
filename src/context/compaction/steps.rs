//! The history as steps: a reply's words, its calls with their results, and what followed. The unit that can
//! be folded is one call with its result, so that files read in one reply go one by one. Pure.

use std::ops::Range;

use crate::history::entry::HistoryEntry;
use base::model::item::{Item, ReminderTopic};

#[derive(Clone, Debug, Default)]
pub struct HistoryStep {
    /// Words and reasoning of the reply.
    pub said: Vec<usize>,
    /// Indices of call and result.
    pub calls: Vec<(usize, usize)>,
    /// Reminders and pictures after it. Rules stay: they apply to the whole session.
    pub after: Vec<usize>,
    /// A call without a result: the step is still running.
    pub open: bool,
}

impl HistoryStep {
    pub fn is_answer(&self) -> bool {
        self.calls.is_empty() && !self.open
    }

    pub fn arrived_at(&self, entries: &[HistoryEntry]) -> u64 {
        let first = self.said.first().or(self.calls.first().map(|(call, _)| call));
        first.map_or(0, |index| entries[*index].arrived_at)
    }
}

#[derive(Clone, Debug, Default)]
pub struct HistoryRound {
    /// Reminders before the first reply.
    pub lead: Vec<usize>,
    pub steps: Vec<HistoryStep>,
    pub running: bool,
}

/// The rounds of the history, oldest first; what precedes the first user message belongs to none.
pub fn rounds(entries: &[HistoryEntry], ranges: &[Range<usize>], turn_start: usize) -> Vec<HistoryRound> {
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
