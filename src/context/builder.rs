//! `ContextBuilder`: the pure function from what the agent holds to the request and its ledger. Each message brings its
//! own row, and whatever the normalizer takes out or adds takes its row with it or brings one: the ledger's sum is the
//! size of the request by construction.

use super::catalog::LAYERS;
use super::layer::{FragmentMessage, LayerInputs};
use super::ledger::{LayerId, Ledger, LedgerEntry};
use crate::context::history::normalize;
use crate::context::tokens::request_size;
use crate::model::fingerprint::{Fingerprint, Parts};
use crate::model::request::{Message, Request};

/// A request and the account of it.
#[derive(Debug)]
pub struct Built {
    pub request: Request,
    pub ledger: Ledger,
    /// Of every part of the request.
    pub fingerprints: Parts,
    /// How many messages at the end may change from step to step without breaking a promise.
    pub volatile: usize,
}

impl normalize::Paired for FragmentMessage {
    fn message(&self) -> &Message {
        &self.message
    }

    fn lost_result(call: &Self, message: Message) -> Self {
        let row =
            LedgerEntry::fixed(call.row.layer, "lost result", request_size::message_tokens(&message), false);
        Self { fingerprint: Fingerprint::of(&message), row, message }
    }
}

/// Stacks the layers in wire order.
pub fn build(inputs: &LayerInputs<'_>) -> Built {
    let parts = inputs.parts;
    let mut request =
        Request { tools: parts.schemas.specs.clone(), params: parts.params.clone(), ..Request::default() };
    let mut ledger = Ledger::default();
    let mut fingerprints = Parts {
        tools: parts.schemas.fingerprint,
        params: Fingerprint::of(&parts.params),
        ..Parts::default()
    };
    let mut pieces: Vec<FragmentMessage> = Vec::with_capacity(inputs.history.entries().len() + 1);
    for layer in LAYERS {
        let Some(fragment) = layer.render(inputs) else { continue };
        if let Some((block, fingerprint)) = fragment.system {
            request.system.push(block);
            fingerprints.system.push(fingerprint);
        }
        pieces.extend(fragment.pieces);
        ledger.rows.extend(fragment.rows);
    }
    let pieces = normalize::normalize(pieces);
    let past = pieces.iter().take_while(|piece| piece.row.layer == LayerId::History).count();
    let volatile = pieces.iter().rev().take_while(|piece| piece.row.layer == LayerId::Todo).count();
    request.cache_marks = cache_marks(pieces.len() - volatile, past);
    request.messages.reserve(pieces.len());
    fingerprints.messages.reserve(pieces.len());
    ledger.rows.reserve(pieces.len());
    for piece in pieces {
        request.messages.push(piece.message);
        fingerprints.messages.push(piece.fingerprint);
        ledger.rows.push(piece.row);
    }
    Built { request, ledger, fingerprints, volatile }
}

/// Where the prompt cache should be able to resume: behind the past rounds, and behind the last stable message.
fn cache_marks(stable: usize, past: usize) -> Vec<usize> {
    let mut marks = Vec::with_capacity(2);
    if past > 0 && past < stable {
        marks.push(past);
    }
    if stable > 0 {
        marks.push(stable);
    }
    marks
}
