//! What a session did since a given time: its answer, its checks with their results, and how it ended.

use std::path::Path;

use agent::work::work_log::{CheckRun, WorkLog};
use base::model::item::Item;
use base::protocol::event::TurnEnd;
use base::text::one_line;
use context::session::reader;
use context::session::record::Record;

const LINE_CHARS: usize = 300;

#[derive(Default)]
pub struct SessionFacts {
    pub answer: Option<String>,
    pub checks: Vec<String>,
    pub end: Option<TurnEnd>,
}

impl SessionFacts {
    pub fn read(log: &Path, since: u64) -> Self {
        let records = reader::read(log).map(|read| read.records).unwrap_or_default();
        let (mut facts, mut work, mut rounds) = (Self::default(), WorkLog::default(), Vec::new());
        let mut goal = None;
        for record in records {
            match record {
                Record::Item(item) if item.ms >= since => {
                    work.add(item.id, &item.item);
                    if let Item::Assistant { text, .. } = &*item.item
                        && !text.trim().is_empty()
                    {
                        facts.answer = Some(text.to_string());
                    }
                }
                Record::Goal { goal: Some(begun), .. } => goal = Some(begun.check),
                Record::TurnEnd { ms, end, .. } if ms >= since => {
                    rounds.extend(end.goal.as_ref().map(|round| round.line()));
                    facts.end = Some(end);
                }
                _ => {}
            }
        }
        let how = |run: &CheckRun| if run.how.is_empty() { String::new() } else { format!(" ({})", run.how) };
        let run = |run: &CheckRun| format!("`{}`: {}{}", run.check.name, run.word(), how(run));
        facts.checks = work.checks().map(run).collect();
        let check = goal.map_or(String::new(), |check| format!("`{}`, ", one_line(&check, LINE_CHARS)));
        facts.checks.extend(rounds.iter().map(|round| format!("{check}{round}")));
        facts
    }
}
