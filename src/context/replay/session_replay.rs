//! A session rebuilt from its log: the history at each point, the fixed parts, what was sent. Used to resume, to
//! replay and to view stored sessions. Reads no file and sends nothing.

use std::sync::Arc;

use crate::builder::{Built, ContextBuilder};
use crate::history::manager::HistoryManager;
use crate::layers::LayerInputs;
use crate::prefix::Prefix;
use crate::session::record::{ItemRecord, Record};
use crate::tokens::calibration::Calibration;
use crate::tokens::request_size;
use crate::tokens::tokenizer::Tokenizer;
use base::config::settings::ContextSettings;
use base::model::item::ItemId;
use base::protocol::ledger::LedgerView;

#[derive(Clone, Debug)]
pub struct SessionReplay {
    pub history: HistoryManager,
    pub prefix: Prefix,
    pub calibration: Calibration,
    pub next_id: u64,
    /// The window, in tokens, to which the server must have truncated the last answered request.
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
    pub fn of(records: &[Record]) -> Self {
        let mut replay = Self::default();
        for record in records {
            replay.apply(record);
        }
        replay
    }

    /// Applies one record. Returns `false` if it is ignored: a damaged log may repeat or reorder items.
    pub fn apply(&mut self, record: &Record) -> bool {
        self.prefix.apply(record);
        match record {
            Record::Item(item) => return self.apply_item(item),
            Record::Forms(batch) => self.history.adopt(batch),
            Record::Archive { before, id, summary, .. } => {
                let id = id.unwrap_or(ItemId(self.next_id));
                self.next_id = self.next_id.max(id.0 + 1);
                self.history.archive(*before, id, summary.clone());
            }
            Record::Unarchive {} => self.history.unarchive(),
            Record::Rewind { to } => self.history.rewind(*to),
            Record::Revive { rewind } => self.history.revive(*rewind),
            Record::Goal { at, goal } => self.history.set_goal(*at, goal.clone()),
            Record::Pin { items, pinned } => items.iter().for_each(|id| self.history.pin(*id, *pinned)),
            Record::Request(request) => {
                self.history.count_request();
                if let Some(usage) = &request.usage {
                    self.truncated_to = self.calibration.report(request.estimated, usage.input);
                }
            }
            // Calibration is specific to a model's tokenizer.
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

    pub fn build(&self) -> Built {
        ContextBuilder::build(&LayerInputs { parts: self.prefix.parts(), history: &self.history })
    }

    pub fn ledger(&self, settings: &ContextSettings) -> LedgerView {
        self.ledger_by(settings, &self.calibration)
    }

    /// Like `ledger`, but counted with the model's own tokenizer if that is public; loads its tables.
    pub fn counted_ledger(&self, settings: &ContextSettings) -> LedgerView {
        let mut calibration = self.calibration;
        if let Some(tokenizer) = Tokenizer::of_model(&self.prefix.parts().params.model) {
            let built = self.build();
            calibration.report(built.ledger.total(), request_size::exact(&built.request, &tokenizer));
        }
        self.ledger_by(settings, &calibration)
    }

    fn ledger_by(&self, settings: &ContextSettings, calibration: &Calibration) -> LedgerView {
        let rules = self.prefix.parts().rules.as_ref();
        self.build().ledger.view(&self.history, settings, calibration, self.prefix.epochs(), rules)
    }
}
