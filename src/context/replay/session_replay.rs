//! A session rebuilt from its log: the history at each point of it, the fixed parts, what was sent. A resume, a replay and
//! every look at a stored session use it, so that what was sent can always be made again from what was written. Reads no
//! file and sends nothing.

use std::sync::Arc;

use crate::builder::{self, Built};
use crate::history::manager::HistoryManager;
use crate::layer::LayerInputs;
use crate::prefix::Prefix;
use crate::session::record::{ItemRecord, Record};
use crate::tokens::calibration::Calibration;
use crate::tokens::request_size::Countable;
use crate::tokens::tokenizer::Encoding;
use base::config::settings::ContextSettings;
use base::model::item::ItemId;
use base::protocol::ledger::LedgerView;

/// A session as far as its records were applied.
#[derive(Clone, Debug)]
pub struct SessionReplay {
    pub history: HistoryManager,
    pub prefix: Prefix,
    pub calibration: Calibration,
    /// The number that the next item gets.
    pub next_id: u64,
    /// The window to which the server must have truncated the last answered request, in tokens.
    pub truncated_to: Option<u64>,
}

impl Default for SessionReplay {
    fn default() -> Self {
        Self {
            history: HistoryManager::default(),
            prefix: Prefix::default(),
            calibration: Calibration::default(),
            next_id: 1,
            truncated_to: None,
        }
    }
}

impl SessionReplay {
    /// All of a log.
    pub fn of(records: &[Record]) -> Self {
        let mut replay = Self::default();
        for record in records {
            replay.apply(record);
        }
        replay
    }

    /// Applies one record. Returns whether it counts: a damaged log may repeat or reorder items.
    pub fn apply(&mut self, record: &Record) -> bool {
        self.prefix.apply(record);
        match record {
            Record::Item(item) => return self.apply_item(item),
            Record::Forms { items, form, texts, .. } => {
                self.history.set_form(items, *form, texts);
            }
            Record::Archive { before, id, summary, .. } => {
                let id = id.unwrap_or(ItemId(self.next_id));
                self.next_id = self.next_id.max(id.0 + 1);
                self.history.archive(*before, id, summary.clone());
            }
            Record::Unarchive {} => self.history.unarchive(),
            Record::Rewind { to } => self.history.rewind(*to),
            Record::Revive { rewind } => self.history.revive(*rewind),
            Record::Pin { items, pinned } => items.iter().for_each(|id| self.history.pin(*id, *pinned)),
            Record::Request(request) => {
                self.history.count_request();
                if let Some(usage) = &request.usage {
                    self.truncated_to =
                        self.calibration.report(request.estimated, request.counted, usage.input);
                }
            }
            // What was learned of one model's tokenizer says nothing of another's.
            Record::Model { .. } => self.calibration = Calibration::default(),
            Record::TurnEnd { .. } => self.history.end_turn(),
            Record::Meta(_) | Record::Frame(_) | Record::Sent(_) | Record::Beside { .. } => {}
        }
        true
    }

    fn apply_item(&mut self, record: &ItemRecord) -> bool {
        let counts =
            record.id.0 >= self.next_id || !self.history.entries().iter().any(|entry| entry.id >= record.id);
        if counts {
            self.next_id = self.next_id.max(record.id.0 + 1);
            self.history.push(record.id, Arc::clone(&record.item), Some(record.tokens));
        }
        counts
    }

    /// The request that these records make.
    pub fn build(&self) -> Built {
        builder::build(&LayerInputs { parts: self.prefix.parts(), history: &self.history })
    }

    /// The ledger of that request as users see it: counted where the model's tokenizer is loaded.
    pub fn ledger(&self, settings: &ContextSettings) -> LedgerView {
        let mut parts = self.prefix.parts().clone();
        let mut history = self.history.clone();
        if let Some(encoding) = self.encoding() {
            history.refine(|_, message| message.exact(encoding));
            parts.schemas.refine(|_, specs| specs.exact(encoding));
            let texts = [Some(&mut parts.system), parts.rules.as_mut()];
            texts.into_iter().flatten().for_each(|part| part.refine(|_, text| text.exact(encoding)));
        }
        let built = builder::build(&LayerInputs { parts: &parts, history: &history });
        built.ledger.view(
            &history,
            settings,
            &self.calibration,
            self.prefix.epochs(),
            self.prefix.parts().rules.as_ref(),
        )
    }

    /// The tokenizer of the model that was asked last, if it is public.
    pub fn encoding(&self) -> Option<Encoding> {
        Encoding::of_model(&self.prefix.parts().params.model)
    }
}
