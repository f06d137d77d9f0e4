//! The last resort to make a request fit: long texts are cut. Each mark names the id by which the model gets
//! the original. Pure.

use super::batch::Batch;
use crate::compress::cut;
use crate::history::entry::HistoryEntry;
use crate::history::forms;
use crate::history::manager::HistoryManager;
use crate::session::record::{CauseKind, FormName};
use crate::tokens::upper_bound::upper_bound;
use base::model::item::{Item, ItemId, LEFT_OUT};

/// Cuts the longest texts until everything fits into `room` tokens: results, arguments and the agent's words
/// first, user text only if it takes more than half of the room.
pub fn cut_longest(history: &HistoryManager, room: u64) -> Vec<Batch> {
    let (pinned, free): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) =
        history.entries().iter().partition(|entry| entry.pinned);
    let sizes = |entries: &[&HistoryEntry]| -> Vec<u64> {
        entries.iter().map(|entry| u64::from(entry.upper_bound())).collect()
    };
    let is_request = |entry: &HistoryEntry| matches!(&*entry.item, Item::User(_));
    let (requests, work): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) =
        free.iter().partition(|entry| is_request(entry));
    let (requests, work) = (sizes(&requests), sizes(&work));
    let room = room.saturating_sub(sizes(&pinned).iter().sum());
    let work_cap = cap(&work, room.saturating_sub(requests.iter().sum()).max(room / 2));
    let work_takes: u64 = work.iter().map(|size| (*size).min(work_cap)).sum();
    let request_cap = cap(&requests, room.saturating_sub(work_takes));
    // A note stays one: in another form its text would pass for the arguments of its first call.
    let mut cut = [FormName::Note, FormName::Folded, FormName::Pointer].map(|form| (form, Vec::new()));
    for entry in free {
        let most = if is_request(entry) { request_cap } else { work_cap };
        if u64::from(entry.upper_bound()) <= most {
            continue;
        }
        let is_note = matches!(entry.form(), FormName::Note | FormName::Folded);
        let short = match &*entry.item {
            // A thought can't be cut: its signature covers all of it.
            Item::Reasoning(_) => continue,
            Item::Image(image) if !is_note => image.placeholder(LEFT_OUT),
            Item::ToolCall(_) if !is_note => forms::short_args(entry.id, entry.text(), most),
            _ => ends(entry.id, entry.text(), most),
        };
        let form = if is_note { entry.form() } else { FormName::Pointer };
        if let Some((_, texts)) = cut.iter_mut().find(|(of, _)| *of == form) {
            texts.push((entry.id, short.into()));
        }
    }
    let cut = cut.into_iter().filter(|(_, texts)| !texts.is_empty());
    cut.map(|(form, texts)| Batch::with_texts(texts, form, CauseKind::Trim.because("long texts"))).collect()
}

/// The largest size to which all can be cut so that together they fit into `room`.
fn cap(sizes: &[u64], room: u64) -> u64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (index, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index) as u64;
        if *size > share {
            return share;
        }
        left -= size;
    }
    u64::MAX
}

/// Start and end of `whole` in about `max_tokens`, with a mark that names the original.
fn ends(id: ItemId, whole: &str, max_tokens: u64) -> String {
    let size = |text: &str| u64::from(upper_bound(text));
    let mark = format!("\n[… full text: Recall {{\"id\":{}}} …]\n", id.0);
    let most = max_tokens.saturating_sub(size(&mark) + 8);
    let now = size(whole).max(1);
    let mut room = usize::try_from(whole.len() as u64 * most / now).unwrap_or(usize::MAX).min(whole.len());
    while room >= 16 {
        let (head, tail, _) = cut::head_and_tail(whole, room);
        if size(head) + size(tail) <= most {
            return format!("{head}{mark}{tail}");
        }
        room = room * 3 / 4;
    }
    mark.trim().to_owned()
}
