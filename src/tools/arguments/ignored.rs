//! Argument keys that had no effect. They are reported to the model, so that it doesn't rely on them.

use base::text::one_line;

const NAMED: usize = 8;
/// Remarks that other agents' tools ask for; dropping them loses nothing.
const REMARKS: [&str; 7] =
    ["description", "explanation", "instruction", "reason", "reasoning", "thought", "toolSummary"];

#[derive(Clone, Debug, Default)]
pub(crate) struct Ignored(pub(crate) Vec<String>);

impl Ignored {
    pub(super) fn add(&mut self, key: impl Into<String>) {
        let key = key.into();
        if !self.0.contains(&key) && !REMARKS.contains(&key.as_str()) {
            self.0.push(key);
        }
    }

    pub(crate) fn note(&self) -> Option<String> {
        let more = if self.0.len() > NAMED { ", …" } else { "" };
        let named: Vec<String> = self.0.iter().take(NAMED).map(|key| one_line(key, 40)).collect();
        (!named.is_empty()).then(|| format!("ignored: {}{more}", named.join(", ")))
    }
}
