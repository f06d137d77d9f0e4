//! L5: the todo recap, the last thing the model reads, only while todos are open.

use std::sync::Arc;

use crate::context::layer::{Fragment, FragmentMessage, LayerInputs};
use crate::context::ledger::{LayerId, LedgerEntry};
use crate::model::fingerprint::Fingerprint;
use crate::model::request::Message;

/// The recap as it is sent.
pub fn reminder(recap: &str) -> String {
    format!("<system-reminder>Todos {recap}</system-reminder>")
}

pub fn render(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let recap = inputs.parts.recap.as_ref()?;
    let message = Message::User(Arc::clone(&recap.content));
    let row = LedgerEntry::fixed(LayerId::Todo, "todo recap", recap);
    let message = FragmentMessage { fingerprint: Fingerprint::of(&message), message, row };
    Some(Fragment { messages: vec![message], ..Fragment::default() })
}
