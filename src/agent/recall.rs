//! The Recall tool's way to the originals: they stand in the session log, whole, for ever.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::item::{Item, ItemId};
use crate::session::reader;
use crate::tool::cx::Originals;

/// Reads from whichever log is open.
#[derive(Default)]
pub struct LogOriginals {
    path: Mutex<PathBuf>,
}

impl LogOriginals {
    /// Follows the agent to another session.
    pub fn follow(&self, path: PathBuf) {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }

    /// The log that is open.
    pub fn path(&self) -> PathBuf {
        self.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Originals for LogOriginals {
    fn original(&self, id: ItemId) -> Option<Arc<Item>> {
        reader::find_item(&self.path(), id).ok().flatten()
    }
}
