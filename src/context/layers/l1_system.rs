//! L1: the system prompt and the tool schemas. Byte-stable within a session; the schemas travel beside the messages,
//! so this fragment carries only their account.

use std::sync::Arc;

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::{LayerId, LedgerEntry};
use crate::model::request::Block;

pub struct System;

impl Layer for System {
    fn id(&self) -> LayerId {
        LayerId::System
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let (system, schemas) = (&inputs.parts.system, &inputs.parts.schemas);
        let mut rows =
            vec![LedgerEntry::fixed(LayerId::System, "system prompt", system.tokens, system.counted)];
        if !schemas.specs.is_empty() {
            rows.push(LedgerEntry::fixed(LayerId::System, "tool schemas", schemas.tokens, schemas.counted));
        }
        let block = Block { text: Arc::clone(&system.text) };
        Some(Fragment { system: Some((block, system.fingerprint)), rows, ..Fragment::default() })
    }
}
