//! A stored session as the beats of a recording, so that policies can be compared on it.

use std::sync::Arc;

use super::events::ReplayEvent;
use crate::model::item::Item;
use crate::session::record::Record;

/// The beats of a log, in order. A request is made where the model begins to answer; what was taken back is left out.
pub fn beats(records: &[Record]) -> Vec<ReplayEvent> {
    // Beside each beat the item's number, to find what a rewind takes back.
    let mut out: Vec<(u64, ReplayEvent)> = Vec::new();
    let mut answering = false;
    for record in records {
        match record {
            Record::Item(record) => {
                let id = record.id.0;
                let answers =
                    matches!(&*record.item, Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_));
                if answers && !answering {
                    out.push((id, ReplayEvent::Request { n: 0, ts: Some(record.ms as f64 / 1000.0) }));
                }
                answering = answers;
                out.push((id, ReplayEvent::Item(Arc::clone(&record.item))));
            }
            Record::Request(_) => answering = false,
            Record::Rewind { to } => out.retain(|(id, _)| *id < to.0),
            _ => {}
        }
    }
    let mut number = 0;
    out.into_iter()
        .map(|(_, beat)| match beat {
            ReplayEvent::Request { ts, .. } => {
                number += 1;
                ReplayEvent::Request { n: number - 1, ts }
            }
            item => item,
        })
        .collect()
}
