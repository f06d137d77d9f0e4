//! One item of the history: its current form, the message sent for it, and its size.

use std::sync::{Arc, OnceLock};

use crate::history::forms;
use crate::session::record::FormName;
use crate::tokens::request_size::Countable;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ItemId};
use base::model::request::Message;

#[derive(Clone, Debug)]
pub struct HistoryEntry {
    pub id: ItemId,
    pub item: Arc<Item>,
    pub arrived_at: u64,
    pub pinned: bool,
    form: FormName,
    message: Option<Message>,
    /// Size as sent now, then in full form.
    tokens: u32,
    full_tokens: u32,
    /// Computed when the message is first sent, and again when the form changes.
    fingerprint: OnceLock<Fingerprint>,
    upper_bound: OnceLock<u32>,
}

impl HistoryEntry {
    /// An item in full form. `tokens` is its cached size; `None` estimates it.
    pub fn new(id: ItemId, item: Arc<Item>, tokens: Option<u32>, arrived_at: u64) -> Self {
        let message = forms::full(&item);
        let tokens = tokens.unwrap_or_else(|| message.estimated());
        Self {
            id,
            item,
            arrived_at,
            pinned: false,
            form: FormName::Full,
            message: Some(message),
            tokens,
            full_tokens: tokens,
            fingerprint: OnceLock::new(),
            upper_bound: OnceLock::new(),
        }
    }

    pub fn form(&self) -> FormName {
        self.form
    }

    /// The message sent now; `None` if a note stands for it.
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    pub fn text(&self) -> &str {
        match &self.message {
            Some(Message::User(text) | Message::System(text) | Message::Result { text, .. }) => text,
            Some(Message::Assistant(said)) => &said.text,
            Some(Message::Call(call)) => &call.args,
            Some(Message::Reasoning(_) | Message::Image(_)) | None => "",
        }
    }

    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| self.message.as_ref().map(Fingerprint::of).unwrap_or_default())
    }

    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    pub fn upper_bound(&self) -> u32 {
        *self.upper_bound.get_or_init(|| self.message.as_ref().map_or(0, Countable::upper_bound))
    }

    pub fn call_id(&self) -> Option<&Arc<str>> {
        match &*self.item {
            Item::ToolCall(call) => Some(&call.id),
            Item::ToolResult(result) => Some(&result.call_id),
            _ => None,
        }
    }

    pub fn full_tokens(&self) -> u32 {
        self.full_tokens
    }

    /// Sends the item in `form` from now on, with `text` if needed. Returns whether anything changed.
    pub fn set_form(&mut self, form: FormName, text: Option<&Arc<str>>) -> bool {
        if form == self.form && text.is_none() {
            return false;
        }
        self.message = match (form, text) {
            (FormName::Gone, _) => None,
            (FormName::Full, _) => Some(forms::full(&self.item)),
            (_, Some(text)) => Some(forms::with_text(&self.item, form, text)),
            (FormName::Pointer, None) => match forms::left_out(self.id, &self.item) {
                Some(message) => Some(message),
                None => return false,
            },
            (_, None) => return false,
        };
        self.form = form;
        self.fingerprint = OnceLock::new();
        self.upper_bound = OnceLock::new();
        self.tokens = match &self.message {
            None => 0,
            Some(_) if form == FormName::Full => self.full_tokens,
            Some(message) => message.estimated(),
        };
        true
    }
}

pub fn tokens_of(entries: &[HistoryEntry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.tokens())).sum()
}

pub fn upper_bound_of(entries: &[HistoryEntry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.upper_bound())).sum()
}
