//! The history of one item (`/context why`): its origin, what was done to it and why, and how to get the
//! original. Made from the log alone.

use super::session_replay::SessionReplay;
use crate::ledger;
use crate::session::record::{FormName, Record};
use base::model::item::ItemId;
use base::protocol::ledger::{self as view, ItemEvent, ItemHistory};
use base::text;

pub fn explain(records: &[Record], wanted: &str) -> Result<ItemHistory, String> {
    let named = || format!("no item has the ID '{}'; IDs look like #12", text::one_line(wanted, 40));
    of_item(records, view::item_id(wanted).ok_or_else(named)?)
}

fn of_item(records: &[Record], id: ItemId) -> Result<ItemHistory, String> {
    let mut replay = SessionReplay::default();
    let mut found: Option<ItemHistory> = None;
    for record in records {
        let before = replay.history.entry(id).map(|entry| entry.tokens());
        replay.apply(record);
        let entry = replay.history.entry(id);
        let Some(history) = &mut found else {
            found = entry.map(|entry| ItemHistory {
                id: id.to_string(),
                origin: ledger::origin(&entry.item),
                arrived_ms: if let Record::Item(item) = record { Some(item.ms) } else { None },
                full_tokens: u64::from(entry.full_tokens()),
                tokens: 0,
                form: "not sent".to_owned(),
                pinned: false,
                events: Vec::new(),
                recall: format!("for the model: Recall {{\"id\":{}}}; the log keeps it", id.0),
            });
            continue;
        };
        let (what, cause) = match (record, before, entry) {
            (Record::Archive { cause, .. }, Some(_), None) => {
                ("archived: part of a summary".to_owned(), cause.to_string())
            }
            (_, Some(_), None) => ("removed".to_owned(), "rewind".to_owned()),
            (Record::Unarchive {}, None, Some(_)) => {
                ("back in its place".to_owned(), "compaction undone".to_owned())
            }
            (_, None, Some(_)) => ("back in its place".to_owned(), "rewind undone".to_owned()),
            (Record::Forms(batch), Some(before), Some(entry)) if batch.items.contains(&id) => {
                let what = match entry.form() {
                    FormName::Gone => "folded: part of the digest before it".to_owned(),
                    form => format!("{}: {before} → {} tokens", form.into_str(), entry.tokens()),
                };
                (what, batch.cause.to_string())
            }
            (Record::Pin { items, pinned }, ..) if items.contains(&id) => {
                (if *pinned { "pinned" } else { "unpinned" }.to_owned(), "by the user".to_owned())
            }
            _ => continue,
        };
        let after_requests = replay.prefix.requests();
        history.events.push(ItemEvent { after_requests, what, cause });
    }
    let mut history =
        found.ok_or_else(|| format!("this session has no item {id}; /context lists what is sent"))?;
    if let Some(entry) = replay.history.entry(id) {
        history.tokens = u64::from(entry.tokens());
        history.form = entry.form().into_str().to_owned();
        history.pinned = entry.pinned;
        history.recall = format!(
            "for the model: Recall {{\"id\":{}}}; for you: `r` in /context, or /context restore {}",
            id.0, id.0
        );
    }
    Ok(history)
}
