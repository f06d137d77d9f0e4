//! How far the maintenance of a session got, by its log.

use std::io;
use std::path::Path;

use super::reader;
use super::record::Record;
use base::model::item::Item;
use base::protocol::event::EndReason;
use base::protocol::maintain::{self, Phase};

/// The task and its remaining phases, starting with an interrupted one. `None` if it isn't a maintenance.
pub fn left(log: &Path) -> io::Result<Option<(String, Vec<Phase>)>> {
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
    Ok(last.map(|(phase, task)| (task, phase.and_later().into_iter().skip(usize::from(done)).collect())))
}
