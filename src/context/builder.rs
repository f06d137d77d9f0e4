//! `ContextBuilder`: the pure function from what the agent holds to the request and its ledger.

use super::catalog::LAYERS;
use super::history::normalize;
use super::layer::LayerInputs;
use super::ledger::{LayerId, Ledger};
use crate::model::request::{Params, Request};

/// A request and the account of it.
#[derive(Debug)]
pub struct Built {
    pub request: Request,
    pub ledger: Ledger,
}

/// Stacks the layers in wire order.
pub fn build(inputs: &LayerInputs<'_>, params: &Params) -> Built {
    let mut request = Request { tools: inputs.tools.clone(), params: params.clone(), ..Request::default() };
    let mut ledger = Ledger::default();
    let mut volatile = 0;
    for layer in LAYERS {
        let Some(fragment) = layer.render(inputs) else { continue };
        request.system.extend(fragment.system);
        if layer.id() == LayerId::Todo {
            volatile += fragment.messages.len();
        }
        request.messages.extend(fragment.messages);
        ledger.rows.extend(fragment.rows);
    }
    request.messages = normalize::normalize(request.messages);
    request.cache_marks = cache_marks(request.messages.len() - volatile, inputs.history.turn_start());
    Built { request, ledger }
}

/// Where the prompt cache should be able to resume: behind the past rounds, and behind the last stable message.
fn cache_marks(stable: usize, turn_start: usize) -> Vec<usize> {
    let mut marks = Vec::with_capacity(2);
    if turn_start > 0 && turn_start < stable {
        marks.push(turn_start);
    }
    if stable > 0 {
        marks.push(stable);
    }
    marks
}
