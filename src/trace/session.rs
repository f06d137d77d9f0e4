//! A stored session as the beats of a recording, so that policies can be compared on it. Knows no policy.

use std::sync::Arc;

use super::convert::Beat;
use crate::model::item::Item;
use crate::session::record::Record;

/// The beats of a log, in order. A request is made where the model begins to answer; what was taken back is left out.
pub fn beats(records: &[Record]) -> Vec<Beat> {
    // Beside each beat the item's number, to find what a rewind takes back.
    let mut out: Vec<(u64, Beat)> = Vec::new();
    let mut answering = false;
    for record in records {
        match record {
            Record::Item(record) => {
                let id = record.id.0;
                let answers =
                    matches!(&*record.item, Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_));
                if answers && !answering {
                    out.push((id, Beat::Request { n: 0, ts: Some(record.ms as f64 / 1000.0) }));
                }
                answering = answers;
                out.push((id, Beat::Item(Arc::clone(&record.item))));
            }
            Record::Request(_) => answering = false,
            Record::Rewind { to } => out.retain(|(id, _)| *id < to.0),
            _ => {}
        }
    }
    let mut number = 0;
    out.into_iter()
        .map(|(_, beat)| match beat {
            Beat::Request { ts, .. } => {
                number += 1;
                Beat::Request { n: number - 1, ts }
            }
            item => item,
        })
        .collect()
}
