//! User edits of single items: pin, drop, restore. Only makes plans; the agent applies and logs them. User
//! text and the summary of archived rounds can't be dropped: the request would make no sense without them.

use std::sync::Arc;

use super::entry::HistoryEntry;
use super::forms;
use super::manager::HistoryManager;
use crate::session::record::{Batch, CauseKind, FormName};
use crate::tokens::estimate::estimate;
use base::model::item::{Item, ItemId};
use base::protocol::ledger::ContextEdit;
use base::text;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserEditPlan {
    pub batch: Option<Batch>,
    pub pin: Option<(Vec<ItemId>, bool)>,
    /// Tokens that the request grows by (estimated, uncalibrated).
    pub grows_by: u64,
    pub message: String,
}

pub fn plan(history: &HistoryManager, edit: ContextEdit, id: ItemId) -> Result<UserEditPlan, String> {
    let Some(at) = history.entries().iter().position(|entry| entry.id == id) else {
        return Err(format!(
            "{id} is not in the context (it never was, or it was archived or rewound). /context lists what is."
        ));
    };
    let entry = &history.entries()[at];
    let pin = |on: bool, message: String| UserEditPlan {
        pin: Some((vec![id], on)),
        message,
        ..UserEditPlan::default()
    };
    match edit {
        ContextEdit::Pin if entry.message().is_none() => {
            Err(format!("{id} was folded into a note. `restore` brings it back and pins it."))
        }
        ContextEdit::Pin => Ok(pin(true, format!("Pinned {id} ({}).", entry.form().into_str()))),
        ContextEdit::Unpin => Ok(pin(false, format!("Unpinned {id}."))),
        ContextEdit::Drop => dropped(entry),
        ContextEdit::Restore => restored(history.entries(), at),
    }
}

const OWN_MESSAGE: &str = "Your own messages can't be dropped: the request would lose its task. Put long text into a \
                           file and mention it with @.";
const SUMMARY: &str = "The summary replaces everything that was archived, so it can't be dropped.";
const REASONING: &str =
    "Reasoning goes back to the server unchanged; it is left out when its steps are folded.";
const REMINDER: &str = "The program's own reminders can't be dropped; they are removed with their turn.";

fn dropped(entry: &HistoryEntry) -> Result<UserEditPlan, String> {
    let id = entry.id;
    let recall = format!("Recall {{\"id\":{}}}", id.0);
    let (form, line) = match (&*entry.item, entry.form()) {
        (_, FormName::Gone) => return Err(format!("{id} was folded into a note already.")),
        // The digest of several items stays one message, so that no call is separated from its result.
        (_, form @ (FormName::Folded | FormName::Note)) => {
            (form, format!("[folded steps: dropped by the user; the first: {recall}]"))
        }
        (Item::User(_), _) => return Err(OWN_MESSAGE.to_owned()),
        (Item::Summary(_), _) => return Err(SUMMARY.to_owned()),
        (Item::Reasoning(_), _) => return Err(REASONING.to_owned()),
        (Item::Reminder(_), _) => return Err(REMINDER.to_owned()),
        (Item::Assistant { text, .. }, _) => {
            let about = text::one_line(text, 40);
            (FormName::Pointer, format!("[\"{about}\": dropped by the user; full text: {recall}]"))
        }
        (Item::ToolCall(_), _) => {
            (FormName::Pointer, serde_json::json!({ "left_out": format!("full text: {recall}") }).to_string())
        }
        (Item::Image(image), _) => {
            (FormName::Pointer, image.placeholder(", dropped by the user; Read it again"))
        }
        (Item::ToolResult(result), _) => (FormName::Pointer, forms::pointer(id, result)),
    };
    let saved = estimate(entry.text()).saturating_sub(estimate(&line));
    if saved == 0 {
        return Err(format!("{id} is already as small as the line that would replace it."));
    }
    Ok(UserEditPlan {
        batch: Some(Batch::with_texts(
            vec![(id, Arc::from(line))],
            form,
            CauseKind::Drop.because("by the user"),
        )),
        pin: entry.pinned.then(|| (vec![id], false)),
        grows_by: 0,
        message: format!(
            "Dropped {id}: replaced by one line, about {saved} tokens less. `restore` undoes it."
        ),
    })
}

/// Restores an item (a call with its result), or everything its round's note stands for if the note is in the way.
fn restored(entries: &[HistoryEntry], at: usize) -> Result<UserEditPlan, String> {
    let id = entries[at].id;
    let part: Vec<&HistoryEntry> = match entries[at].form() {
        FormName::Note | FormName::Folded => represented(entries, at).collect(),
        FormName::Gone => {
            let own = |entry: &HistoryEntry| {
                entry.id == id || entry.call_id().is_some() && entry.call_id() == entries[at].call_id()
            };
            let first = entries.iter().position(own).unwrap_or(at);
            let last = entries.iter().rposition(own).unwrap_or(at);
            let note = |index: &usize| matches!(entries[*index].form(), FormName::Note | FormName::Folded);
            // A digest of an older log stands for the gone items right after it; a note may be anywhere in its round.
            let digest = (0..=at).rev().find(|index| entries[*index].form() != FormName::Gone);
            let digest = digest.filter(|index| entries[*index].form() == FormName::Folded);
            match digest.or_else(|| (first..=last).find(note)) {
                Some(note) => represented(entries, note).collect(),
                None => entries[first..=last].iter().filter(|entry| own(entry)).collect(),
            }
        }
        _ => vec![&entries[at]],
    };
    if part.iter().all(|entry| entry.form() == FormName::Full) {
        return Err(format!("{id} is already sent in full. `pin` keeps it that way."));
    }
    let ids: Vec<ItemId> = part.iter().map(|entry| entry.id).collect();
    let full: u64 = part.iter().map(|entry| u64::from(entry.full_tokens())).sum();
    let now: u64 = part.iter().map(|entry| u64::from(entry.tokens())).sum();
    let grows_by = full.saturating_sub(now);
    let more = match ids.len() {
        1 => String::new(),
        count => format!(" and what was folded with it ({count} items)"),
    };
    Ok(UserEditPlan {
        batch: Some(Batch::plain(ids.clone(), FormName::Full, CauseKind::Restore.because("by the user"))),
        pin: Some((ids, true)),
        grows_by,
        message: format!("Restored and pinned {id}{more}: about {grows_by} tokens more."),
    })
}

/// The items that the note at `note` stands for: those gone in its round, or after a digest of older logs.
fn represented(entries: &[HistoryEntry], note: usize) -> impl Iterator<Item = &HistoryEntry> {
    let begins = |entry: &HistoryEntry| entry.item.begins_round();
    let start = entries[..note].iter().rposition(begins).map_or(0, |start| start + 1);
    let end = entries[note..].iter().position(begins).map_or(entries.len(), |end| note + end);
    let (start, end) = match entries[note].form() {
        FormName::Folded => {
            let gone = entries[note + 1..].iter().take_while(|entry| entry.form() == FormName::Gone).count();
            (note, note + 1 + gone)
        }
        _ => (start, end),
    };
    entries[start..end].iter().filter(|entry| entry.form() >= FormName::Folded)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base::model::call::ToolCall;
    use base::model::envelope::Envelope;
    use base::model::item::{ToolResult, UserMessage};

    /// A message, then two calls with their results; #2–#5 are folded into one digest.
    fn folded() -> HistoryManager {
        let mut history = HistoryManager::default();
        let long = "a line of some length\n".repeat(30);
        history.push(ItemId(1), Arc::new(Item::User(UserMessage::new(&long))), None);
        for number in [2, 4] {
            let call_id: Arc<str> = format!("c{number}").into();
            let call = ToolCall { id: Arc::clone(&call_id), name: "LS".into(), args: "{}".into() };
            history.push(ItemId(number), Arc::new(Item::ToolCall(call)), None);
            let envelope = Envelope::success("").with_body("entries", long.clone());
            let result = ToolResult::new(call_id, "LS", envelope);
            history.push(ItemId(number + 1), Arc::new(Item::ToolResult(result)), None);
        }
        history.set_form(&[ItemId(2)], FormName::Folded, &["two listings ".repeat(30).into()]);
        history.set_form(&[3, 4, 5].map(ItemId), FormName::Gone, &[]);
        history
    }

    #[test]
    fn a_digest_is_dropped_and_restored_as_a_whole() {
        let mut history = folded();
        let full: u64 = history.entries().iter().map(|entry| u64::from(entry.full_tokens())).sum();
        let dropped = plan(&history, ContextEdit::Drop, ItemId(2)).unwrap();
        history.adopt(&dropped.batch.unwrap());
        assert!(history.entries()[1].text().contains("dropped by the user"));
        assert!(plan(&history, ContextEdit::Drop, ItemId(2)).is_err(), "once is enough");
        assert!(plan(&history, ContextEdit::Pin, ItemId(4)).is_err(), "nothing of it is sent");
        // Any of the four brings back all of them.
        let restored = plan(&history, ContextEdit::Restore, ItemId(4)).unwrap();
        assert_eq!(restored.pin, Some(([2, 3, 4, 5].map(ItemId).to_vec(), true)));
        let before = history.tokens();
        history.adopt(&restored.batch.unwrap());
        assert_eq!((history.tokens(), history.tokens() - before), (full, restored.grows_by));
    }

    #[test]
    fn a_folded_call_comes_back_with_its_result_alone() {
        let mut history = folded();
        history.set_form(&[ItemId(2)], FormName::Note, &["[two listings]".into()]);
        let restored = plan(&history, ContextEdit::Restore, ItemId(5)).unwrap();
        assert_eq!(restored.pin, Some(([4, 5].map(ItemId).to_vec(), true)));
        history.adopt(&restored.batch.unwrap());
        assert_eq!(history.entries()[1].text(), "[two listings]", "the note stays");
        let all = plan(&history, ContextEdit::Restore, ItemId(3)).unwrap();
        assert_eq!(
            all.pin,
            Some(([2, 3].map(ItemId).to_vec(), true)),
            "the note was in the place of its call"
        );
    }

    #[test]
    fn refusals() {
        let history = folded();
        assert!(plan(&history, ContextEdit::Drop, ItemId(1)).unwrap_err().contains("can't be dropped"));
        assert!(
            plan(&history, ContextEdit::Restore, ItemId(1)).unwrap_err().contains("already sent in full")
        );
        assert!(plan(&history, ContextEdit::Pin, ItemId(9)).unwrap_err().contains("not in the context"));
    }
}
