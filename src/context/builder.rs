//! `ContextBuilder`: a pure function from what the agent has to the request and its ledger. Each message
//! carries its own row through the normalizer, so the ledger always sums to the request's size.

use std::sync::Arc;

use super::layers::{FragmentMessage, LAYERS, LayerInputs};
use super::ledger::{LayerId, Ledger, LedgerEntry, Subject};
use crate::history::normalize;
use crate::session::record::FormName;
use crate::tokens::request_size::Countable;
use base::model::fingerprint::{Fingerprint, Parts};
use base::model::item::ItemId;
use base::model::request::{Message, Request};

pub struct ContextBuilder;

#[derive(Debug)]
pub struct Built {
    pub request: Request,
    pub ledger: Ledger,
    pub fingerprints: Parts,
}

impl normalize::Paired for FragmentMessage {
    fn message(&self) -> &Message {
        &self.message
    }

    fn lost_result(call: &Self, message: Message) -> Self {
        let row = LedgerEntry {
            subject: Subject::Part("lost result"),
            layer: call.row.layer,
            tokens: message.estimated(),
            form: FormName::Full,
            pinned: true,
        };
        Self { fingerprint: Fingerprint::of(&message), row, message }
    }
}

impl ContextBuilder {
    pub fn build(inputs: &LayerInputs<'_>) -> Built {
        let parts = inputs.parts;
        let mut request = Request {
            tools: Arc::clone(&parts.schemas.content),
            params: parts.params.clone(),
            ..Request::default()
        };
        let mut ledger = Ledger::default();
        let mut fingerprints = Parts {
            tools: parts.schemas.fingerprint,
            params: Fingerprint::of(&parts.params),
            ..Parts::default()
        };
        let mut messages: Vec<FragmentMessage> = Vec::with_capacity(inputs.history.entries().len() + 1);
        for layer in LAYERS {
            let fragment = layer(inputs);
            if let Some((block, fingerprint)) = fragment.system {
                request.system.push(block);
                fingerprints.system.push(fingerprint);
            }
            messages.extend(fragment.messages);
            ledger.rows.extend(fragment.rows);
        }
        let messages = normalize::normalize(messages);
        let past = messages.iter().take_while(|message| message.row.layer == LayerId::History).count();
        request.cache_marks = cache_marks(messages.len(), past);
        request.messages.reserve(messages.len());
        fingerprints.messages.reserve(messages.len());
        ledger.rows.reserve(messages.len());
        for message in messages {
            request.messages.push(message.message);
            fingerprints.messages.push(message.fingerprint);
            ledger.rows.push(message.row);
        }
        Built { request, ledger, fingerprints }
    }
}

impl Built {
    pub fn reasoning_from(&self, at: usize) -> Vec<ItemId> {
        let rows = &self.ledger.rows[self.ledger.rows.len() - self.request.messages.len()..];
        let messages = self.request.messages.iter().zip(rows).skip(at);
        messages
            .filter(|(message, _)| matches!(message, Message::Reasoning(_)))
            .filter_map(|(_, row)| match row.subject {
                Subject::Item(id) => Some(id),
                Subject::Part(_) => None,
            })
            .collect()
    }
}

/// Prompt cache breakpoints: after the past rounds, and after the last message.
fn cache_marks(all: usize, past: usize) -> Vec<usize> {
    let mut marks = Vec::with_capacity(2);
    if past > 0 && past < all {
        marks.push(past);
    }
    if all > 0 {
        marks.push(all);
    }
    marks
}
