//! L1: the system prompt and the tool schemas. Byte-stable within a session; the schemas travel beside the messages,
//! so this fragment carries only their account.

use std::sync::Arc;

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::{LayerId, Row};
use crate::model::request::Block;

pub struct System;

impl Layer for System {
    fn id(&self) -> LayerId {
        LayerId::System
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let mut rows = vec![Row::fixed(LayerId::System, "system prompt", inputs.system_tokens)];
        if !inputs.tools.is_empty() {
            rows.push(Row::fixed(LayerId::System, "tool schemas", inputs.tools_tokens));
        }
        Some(Fragment { system: Some(Block { text: Arc::clone(inputs.system) }), messages: Vec::new(), rows })
    }
}
