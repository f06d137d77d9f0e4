//! The history in three layers. L3: the summary and the past rounds; L4: the message that the running turn
//! answers; L6: the running turn so far, with the todo recap (L5) after results that changed the list. An
//! item keeps its bytes when it moves between layers, so the prefix stays stable.

use crate::layer::{Fragment, LayerInputs};
use crate::ledger::LayerId;

pub fn past(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::History, inputs.history.entries().get(..turn_start)?)
}

pub fn question(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::Question, inputs.history.entries().get(turn_start..=turn_start)?)
}

pub fn scratchpad(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::Scratchpad, inputs.history.entries().get(turn_start + 1..)?)
}
