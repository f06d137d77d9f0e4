//! One item of the history: the form in which it is sent now, that message, and its size.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use crate::history::forms;
use crate::session::record::FormName;
use crate::tokens::request_size::Countable;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ItemId};
use base::model::request::Message;

/// Tokens of a message, and whether the model's own tokenizer has counted them; otherwise they are estimated.
#[derive(Clone, Copy, Debug, Default)]
struct MessageSize {
    tokens: u32,
    counted: bool,
}

/// One item in the history.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: ItemId,
    pub item: Arc<Item>,
    /// Number of requests that had been answered when this item arrived: its age is counted in requests.
    pub arrived_at: u64,
    pub pinned: bool,
    form: FormName,
    /// `None` when nothing of it is sent.
    message: Option<Message>,
    /// As sent now, and in full form.
    size: MessageSize,
    full_size: MessageSize,
    /// Of the message; made when it is first sent, and again only when the form changes.
    fingerprint: OnceLock<Fingerprint>,
    /// Counted when it is first asked for: only a window that is filling up needs it.
    upper_bound: OnceLock<u32>,
}

impl Entry {
    /// An item in full form. `tokens` is its cached size; `None` estimates it.
    pub fn new(id: ItemId, item: Arc<Item>, tokens: Option<u32>, arrived_at: u64) -> Self {
        let message = forms::full(&item);
        let size = MessageSize { tokens: tokens.unwrap_or_else(|| message.estimated()), counted: false };
        Self {
            id,
            item,
            arrived_at,
            pinned: false,
            form: FormName::Full,
            message: Some(message),
            size,
            full_size: size,
            fingerprint: OnceLock::new(),
            upper_bound: OnceLock::new(),
        }
    }

    pub fn form(&self) -> FormName {
        self.form
    }

    /// The message as it is sent now; `None` when a digest stands for it.
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// The text as it is sent now: the words, the result, or the arguments of a call.
    pub fn text(&self) -> &str {
        match &self.message {
            Some(Message::User(text) | Message::System(text) | Message::Result { text, .. }) => text,
            Some(Message::Assistant(said)) => &said.text,
            Some(Message::Call(call)) => &call.args,
            Some(Message::Reasoning(_) | Message::Image(_)) | None => "",
        }
    }

    /// The fingerprint of the message as it is sent now.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| self.message.as_ref().map(Fingerprint::of).unwrap_or_default())
    }

    /// Tokens as sent now.
    pub fn tokens(&self) -> u32 {
        self.size.tokens
    }

    /// Whether [`Self::tokens`] is the model's own tokenizer's count; otherwise it is an estimate.
    pub fn is_counted(&self) -> bool {
        self.size.counted
    }

    /// Takes the exact count of what is sent now.
    pub fn refine(&mut self, tokens: u32) {
        self.size = MessageSize { tokens, counted: true };
        if self.form == FormName::Full {
            self.full_size = self.size;
        }
    }

    /// Goes back to estimates: another tokenizer counts from here on.
    pub fn forget_count(&mut self) {
        if self.full_size.counted {
            self.full_size = MessageSize { tokens: forms::full(&self.item).estimated(), counted: false };
        }
        if self.size.counted {
            self.size = self.known_size();
        }
    }

    /// The size of what is sent now, as far as it is known without counting.
    fn known_size(&self) -> MessageSize {
        match &self.message {
            None => MessageSize::default(),
            Some(_) if self.form == FormName::Full => self.full_size,
            Some(message) => MessageSize { tokens: message.estimated(), counted: false },
        }
    }

    /// The most tokens that it may take as sent now.
    pub fn upper_bound(&self) -> u32 {
        *self.upper_bound.get_or_init(|| self.message.as_ref().map_or(0, Countable::upper_bound))
    }

    /// The id of the call that this is, or that it answers.
    pub fn call_id(&self) -> Option<&Arc<str>> {
        match &*self.item {
            Item::ToolCall(call) => Some(&call.id),
            Item::ToolResult(result) => Some(&result.call_id),
            _ => None,
        }
    }

    /// Tokens in full form.
    pub fn full_tokens(&self) -> u32 {
        self.full_size.tokens
    }

    /// Estimated tokens in `form`; `None` when that form is not smaller than the present one.
    pub fn tokens_in(&self, form: FormName) -> Option<u32> {
        if form <= self.form {
            return None;
        }
        let tokens = forms::shortened(self.id, &self.item, form)?.estimated();
        (tokens < self.size.tokens).then_some(tokens)
    }

    /// Sends the item in `form` from now on, as `text` where the form needs one. Returns whether anything changed.
    pub fn set_form(&mut self, form: FormName, text: Option<&Arc<str>>) -> bool {
        if form == self.form && text.is_none() {
            return false;
        }
        self.message = match (form, text) {
            (FormName::Gone, _) => None,
            (FormName::Full, _) => Some(forms::full(&self.item)),
            (_, Some(text)) => Some(forms::with_text(&self.item, form, text)),
            (_, None) => match forms::shortened(self.id, &self.item, form) {
                Some(message) => Some(message),
                None => return false,
            },
        };
        self.form = form;
        self.fingerprint = OnceLock::new();
        self.upper_bound = OnceLock::new();
        self.size = self.known_size();
        true
    }
}

/// Tokens of these entries as sent now.
pub fn tokens_of(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.tokens())).sum()
}

/// The most tokens that these entries may take as sent now.
pub fn upper_bound_of(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.upper_bound())).sum()
}

/// The ids of calls that are pinned, or whose result is: the two stay together.
pub fn pinned_calls(entries: &[Entry]) -> HashSet<Arc<str>> {
    entries.iter().filter(|entry| entry.pinned).filter_map(|entry| entry.call_id().cloned()).collect()
}
