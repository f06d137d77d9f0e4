//! One item's story (`/context why`): where it came from, what was done to it and why, and how to get at the original.
//! Told from the log alone.

use super::session_replay::SessionReplay;
use crate::base::text;
use crate::context::ledger::{self, LayerId};
use crate::model::item::ItemId;
use crate::protocol::ledger::{self as view, ItemEvent, ItemHistory};
use crate::session::record::{FormName, FrameRecord, Record};

/// The story of the item or fixed part that the ledger shows as `wanted`.
///
/// # Errors
/// A sentence for the user when the session holds no such thing.
pub fn story(records: &[Record], wanted: &str) -> Result<ItemHistory, String> {
    match view::item_id(wanted) {
        Some(id) => of_item(records, id),
        None => of_part(records, wanted.trim()),
    }
}

fn of_item(records: &[Record], id: ItemId) -> Result<ItemHistory, String> {
    let mut logbook = SessionReplay::default();
    let mut story: Option<ItemHistory> = None;
    let mut gone = "";
    for record in records {
        let was = logbook.history.entry(id).map(|entry| (entry.form(), entry.tokens()));
        logbook.take(record);
        let entry = logbook.history.entry(id);
        let Some(told) = &mut story else {
            if let Some(entry) = entry {
                story = Some(ItemHistory {
                    id: id.to_string(),
                    origin: ledger::origin(&entry.item),
                    arrived_ms: match record {
                        Record::Item(item) => Some(item.ms),
                        _ => None,
                    },
                    full_tokens: u64::from(entry.full_tokens()),
                    tokens: u64::from(entry.tokens()),
                    form: entry.form().as_str().to_owned(),
                    pinned: entry.pinned,
                    deeds: Vec::new(),
                    recall: format!(
                        "the model: Recall {{\"id\":{}}}; you: `r` in /context, or /context restore {}",
                        id.0, id.0
                    ),
                });
            }
            continue;
        };
        let (what, cause) = match (record, was, entry) {
            (_, Some(_), None) => {
                let (what, cause) = match record {
                    Record::Archive { cause, .. } => ("archived: a summary stands for it", cause.clone()),
                    _ => ("taken back", "rewind".to_owned()),
                };
                gone = "not sent";
                (what.to_owned(), cause)
            }
            (_, None, Some(_)) => {
                let cause = match record {
                    Record::Unarchive {} => "the archive was taken back",
                    _ => "the rewind was undone",
                };
                ("back in its place".to_owned(), cause.to_owned())
            }
            (Record::Forms { items, cause, .. }, Some((_, before)), Some(entry)) if items.contains(&id) => {
                let what = match entry.form() {
                    FormName::Gone => "folded: the digest before it stands for it".to_owned(),
                    form => format!("{}: {before} → {} tokens", form.as_str(), entry.tokens()),
                };
                (what, cause.clone())
            }
            (Record::Pin { items, pinned }, ..) if items.contains(&id) => {
                let what = if *pinned { "pinned" } else { "released" };
                (what.to_owned(), "by the user".to_owned())
            }
            _ => continue,
        };
        told.deeds.push(ItemEvent { after_requests: logbook.prefix.requests(), what, cause });
    }
    let mut story =
        story.ok_or_else(|| format!("this session has no item {id}; /context lists what is sent"))?;
    match logbook.history.entry(id) {
        Some(entry) => {
            story.tokens = u64::from(entry.tokens());
            story.form = entry.form().as_str().to_owned();
            story.pinned = entry.pinned;
        }
        None => {
            (story.tokens, story.pinned) = (0, false);
            story.form = gone.to_owned();
            story.recall = format!("the model: Recall {{\"id\":{}}}; the log keeps it for ever", id.0);
        }
    }
    Ok(story)
}

/// A fixed part: each time it changed is one deed.
fn of_part(records: &[Record], name: &str) -> Result<ItemHistory, String> {
    type Pick = fn(&FrameRecord) -> bool;
    let (layer, origin, pick): (LayerId, &str, Pick) = match name {
        "system" => (LayerId::System, "system prompt of the program", |frame| frame.system.is_some()),
        "tool" => (LayerId::System, "schemas of the tools", |frame| frame.tools.is_some()),
        "rules" => (LayerId::Rules, "rules files of the project", |frame| frame.law.is_some()),
        "todo" => {
            (LayerId::Todo, "recap of the todo list, made anew at each step", |frame| frame.recap.is_some())
        }
        "lost" => (LayerId::History, "stands for the result of a call that was cut off", |_| false),
        _ => {
            return Err(format!(
                "'{}' is neither an item such as #12 nor one of system, tool, rules, todo",
                text::one_line(name, 40)
            ));
        }
    };
    let logbook = SessionReplay::of(records);
    let built = logbook.build();
    let tokens = built
        .ledger
        .rows
        .iter()
        .filter(|row| row.subject.label() == name)
        .map(|row| u64::from(row.tokens))
        .sum();
    let mut deeds = Vec::new();
    let mut requests = 0;
    for record in records {
        match record {
            Record::Sent(_) => requests += 1,
            Record::Frame(frame) if pick(frame) => {
                let what = if deeds.is_empty() { "sent first" } else { "changed" };
                deeds.push(ItemEvent {
                    after_requests: requests,
                    what: what.to_owned(),
                    cause: layer.label().to_owned(),
                });
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
        form: FormName::Full.as_str().to_owned(),
        pinned: true,
        deeds,
        recall: "always sent whole".to_owned(),
    })
}
