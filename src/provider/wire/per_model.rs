//! What was learned in a session about single models.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
#[derive(Debug)]
pub struct PerModel<T>(Mutex<HashMap<Arc<str>, T>>);

impl<T> Default for PerModel<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> PerModel<T> {
    pub fn get(&self, model: &str) -> Option<T> {
        self.0.lock().get(model).cloned()
    }

    /// Returns what was known before.
    pub fn set(&self, model: &str, learned: T) -> Option<T> {
        self.0.lock().insert(model.into(), learned)
    }
}
