//! The valid part of a session: items and turn ends without what a rewind removed, but with what a
//! summary replaced; and how far a maintenance run got.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::reader;
use super::record::{Meta, Record};
use super::undo_stack::UndoStack;
use base::model::item::{Item, ItemId};
use base::protocol::event::{EndReason, TurnEnd};
use base::protocol::maintain::{self, MaintainPhase};

#[derive(Clone, Debug)]
pub enum EffectiveEntry {
    /// With its arrival time, in milliseconds since the Unix epoch.
    Item(u64, Arc<Item>),
    TurnEnd(Box<TurnEnd>),
}

#[derive(Clone, Debug, Default)]
pub struct EffectiveSession {
    pub meta: Option<Meta>,
    /// Oldest first; a turn's end has the id of the item before it.
    pub all: Vec<(ItemId, EffectiveEntry)>,
}

impl EffectiveSession {
    pub fn read(log: &Path) -> io::Result<Self> {
        Ok(Self::of(reader::read(log)?.records))
    }

    pub fn of(records: Vec<Record>) -> Self {
        let mut stack = UndoStack::default();
        let (mut meta, mut last) = (None, ItemId(0));
        for record in records {
            match record {
                Record::Meta(found) => meta = Some(found),
                Record::Item(record) => {
                    last = record.id;
                    stack.push(record.id, EffectiveEntry::Item(record.ms, record.item));
                }
                Record::Archive { id: Some(id), summary, .. } => {
                    stack.push(id, EffectiveEntry::Item(0, Arc::new(Item::Summary(summary))));
                }
                Record::TurnEnd { end, .. } => stack.push(last, EffectiveEntry::TurnEnd(end.into())),
                Record::Rewind { to } => stack.rewind(to),
                Record::Revive { rewind } => stack.revive(rewind),
                _ => {}
            }
        }
        Self { meta, all: stack.all().to_vec() }
    }

    pub fn items(&self) -> impl Iterator<Item = (ItemId, &Arc<Item>)> {
        self.all.iter().filter_map(|(id, standing)| match standing {
            EffectiveEntry::Item(_, item) => Some((*id, item)),
            EffectiveEntry::TurnEnd(_) => None,
        })
    }

    pub fn keep_last_turn(&mut self) {
        let begins = |(_, standing): &(ItemId, EffectiveEntry)| matches!(standing, EffectiveEntry::Item(_, item) if item.begins_round());
        if let Some(at) = self.all.iter().rposition(begins) {
            self.all.drain(..at);
        }
    }
}

/// The task of a maintenance run and its remaining phases, an interrupted one first. `None` for other sessions.
pub fn maintenance_left(log: &Path) -> io::Result<Option<(String, Vec<MaintainPhase>)>> {
    let (mut last, mut done) = (None, false);
    for record in reader::read(log)?.records {
        match record {
            Record::Item(record) => {
                if let Item::User(message) = &*record.item
                    && let Some(begun) = maintain::of_title(&message.text)
                {
                    (last, done) = (Some(begun), false);
                }
            }
            Record::TurnEnd { end, .. } => done = end.reason == EndReason::Done,
            _ => {}
        }
    }
    let left =
        |first| MaintainPhase::ALL.into_iter().skip_while(move |one| *one != first).skip(usize::from(done));
    Ok(last.map(|(phase, task)| (task, left(phase).collect())))
}
