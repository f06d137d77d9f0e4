//! Keys of a call of which nothing was made: the model is told, so that it does not count on them.

use base::text::one_line;

/// More are not named.
const NAMED: usize = 8;

/// Keys that the call gave in vain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    pub(super) fn add(&mut self, key: impl Into<String>) {
        let key = key.into();
        if !self.0.contains(&key) {
            self.0.push(key);
        }
    }

    /// `ignored: a, b`; `None` when there are none.
    pub(crate) fn note(&self) -> Option<String> {
        let more = if self.0.len() > NAMED { ", …" } else { "" };
        let named: Vec<String> = self.0.iter().take(NAMED).map(|key| one_line(key, 40)).collect();
        (!named.is_empty()).then(|| format!("ignored: {}{more}", named.join(", ")))
    }
}
