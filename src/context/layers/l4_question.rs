//! L4: the message that the running turn answers, with the blocks that were put behind it. It keeps its bytes when the
//! turn becomes history, so that the prefix stays stable.

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::LayerId;

pub struct Question;

impl Layer for Question {
    fn id(&self) -> LayerId {
        LayerId::Question
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let start = inputs.history.turn_start();
        Fragment::of_entries(LayerId::Question, inputs.history.entries().get(start..=start)?)
    }
}
