//! The history of one item (`/context why`): its origin, what was done to it and why, and how to get the
//! original. Made from the log alone.

use super::session_replay::SessionReplay;
use crate::ledger;
use crate::session::record::{FormName, FrameRecord, Record};
use base::model::item::ItemId;
use base::protocol::ledger::{self as view, ItemEvent, ItemHistory};
use base::text;

/// The history of the item or fixed part that the ledger lists as `wanted`.
pub fn explain(records: &[Record], wanted: &str) -> Result<ItemHistory, String> {
    match view::item_id(wanted) {
        Some(id) => of_item(records, id),
        None => of_part(records, wanted.trim()),
    }
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

fn of_part(records: &[Record], name: &str) -> Result<ItemHistory, String> {
    type Changed = fn(&FrameRecord) -> bool;
    let (origin, changed): (&str, Changed) = match name {
        "system" => ("system prompt", |frame| frame.system.is_some()),
        "tool" => ("tool schemas", |frame| frame.tools.is_some()),
        "rules" => ("project rules files", |frame| frame.rules.is_some()),
        "lost" => ("placeholder for the result of an interrupted call", |_| false),
        _ => {
            return Err(format!(
                "'{}' is neither an item such as #12 nor one of system, tool, rules",
                text::one_line(name, 40)
            ));
        }
    };
    let built = SessionReplay::of(records).build();
    let rows = built.ledger.rows.iter().filter(|row| row.subject.label() == name);
    let tokens = rows.map(|row| u64::from(row.tokens)).sum();
    let mut events = Vec::new();
    let mut requests = 0;
    for record in records {
        match record {
            Record::Sent(_) => requests += 1,
            Record::Frame(frame) if changed(frame) => {
                let what = if events.is_empty() { "first sent" } else { "changed" };
                let cause = origin.to_owned();
                events.push(ItemEvent { after_requests: requests, what: what.to_owned(), cause });
            }
            _ => {}
        }
    }
    Ok(ItemHistory {
        id: name.to_owned(),
        origin: origin.to_owned(),
        arrived_ms: None,
        full_tokens: tokens,
        tokens,
        form: FormName::Full.into_str().to_owned(),
        pinned: true,
        events,
        recall: "always sent in full".to_owned(),
    })
}
