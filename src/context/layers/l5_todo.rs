//! L5: the todo recap, the last thing the model reads, only while todos are open.

use std::sync::Arc;

use crate::context::layer::{Fragment, FragmentMessage, Layer, LayerInputs};
use crate::context::ledger::{LayerId, LedgerEntry};
use crate::model::fingerprint::Fingerprint;
use crate::model::request::Message;

pub struct TodoRecap;

/// The recap as it is sent.
pub fn reminder(recap: &str) -> String {
    format!("<system-reminder>Todos {recap}</system-reminder>")
}

impl Layer for TodoRecap {
    fn id(&self) -> LayerId {
        LayerId::Todo
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let recap = inputs.parts.recap.as_ref()?;
        let message = Message::User(Arc::clone(&recap.text));
        let row = LedgerEntry::fixed(LayerId::Todo, "todo recap", recap.tokens, recap.counted);
        let piece = FragmentMessage { fingerprint: Fingerprint::of(&message), message, row };
        Some(Fragment { pieces: vec![piece], ..Fragment::default() })
    }
}
