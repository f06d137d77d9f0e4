//! L3: the archived summary and the past rounds, each item in the form that the history has chosen for it.

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::LayerId;

pub struct History;

impl Layer for History {
    fn id(&self) -> LayerId {
        LayerId::History
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        Fragment::of_entries(LayerId::History, &inputs.history.entries()[..inputs.history.turn_start()])
    }
}
