//! L2: the project's rules (`CODE_LAW.md` and its kin), second block of the system prompt. Never trimmed;
//! changes only when the files change.

use crate::layer::{Fragment, LayerInputs};
use crate::ledger::LayerId;

pub fn render(inputs: &LayerInputs<'_>) -> Option<Fragment> {
    let rules = inputs.parts.rules.as_ref()?;
    Some(Fragment::of_system(LayerId::Rules, "rules of the project", rules))
}
