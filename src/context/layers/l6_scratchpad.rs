//! L6: what the running turn has said, called and observed so far, in full unless the window forced otherwise.

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::LayerId;

pub struct Scratchpad;

impl Layer for Scratchpad {
    fn id(&self) -> LayerId {
        LayerId::Scratchpad
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let start = inputs.history.turn_start() + 1;
        Fragment::of_entries(LayerId::Scratchpad, inputs.history.entries().get(start..)?)
    }
}
