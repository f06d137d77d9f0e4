//! L1: the system prompt and the tool schemas. Byte-stable within a session; schemas travel outside the
//! messages, so this fragment carries only their rows.

use crate::layer::{Fragment, LayerInputs};
use crate::ledger::{LayerId, LedgerEntry};

pub fn render(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let (system, schemas) = (&inputs.parts.system, &inputs.parts.schemas);
    let mut fragment = Fragment::of_system(LayerId::System, "system prompt", system);
    if !schemas.content.is_empty() {
        fragment.rows.push(LedgerEntry::fixed(LayerId::System, "tool schemas", schemas));
    }
    Some(fragment)
}
