//! L2: the project's rules (`CODE_LAW.md` and its kin), second block of the system prompt. Never trimmed; changes only
//! when the files change.

use std::sync::Arc;

use crate::context::layer::{Fragment, Layer, LayerInputs};
use crate::context::ledger::{LayerId, LedgerEntry};
use crate::model::request::Block;

pub struct ProjectRulesLayer;

impl Layer for ProjectRulesLayer {
    fn id(&self) -> LayerId {
        LayerId::Law
    }

    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment> {
        let law = inputs.parts.law.as_ref()?;
        Some(Fragment {
            system: Some((Block { text: Arc::clone(&law.text) }, law.fingerprint)),
            rows: vec![LedgerEntry::fixed(LayerId::Law, "rules of the project", law.tokens, law.counted)],
            ..Fragment::default()
        })
    }
}
