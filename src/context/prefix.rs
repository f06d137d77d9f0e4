//! Epochs: each request either appends messages to the previous one or begins a new epoch, recorded with its
//! causes, cost and savings. Relies only on the log's records, so that a resumed session compares with what was really sent.

use std::collections::HashSet;

use super::builder::Built;
use super::ledger::Subject;
use super::parts::FixedParts;
use crate::session::record::{Cause, CauseKind, CauseRecord, EpochRecord, FrameRecord, Record, SentRecord};
use base::clock;
use base::model::fingerprint::Fingerprint;
use base::model::item::ItemId;
use base::protocol::ledger::{EpochCause, EpochSum, Epochs};

#[derive(Clone, Debug, Default)]
pub struct Prefix {
    parts: FixedParts,
    messages: Vec<Fingerprint>,
    requests: u64,
    epochs: Epochs,
    tokens: u64,
    newest: ItemId,
    newest_sent: ItemId,
    reasoning_dropped: u64,
    pending: Vec<CauseRecord>,
    /// Whether anything before the messages changed since the last request.
    head_changed: bool,
}

impl Prefix {
    pub fn parts(&self) -> &FixedParts {
        &self.parts
    }

    pub fn messages(&self) -> &[Fingerprint] {
        &self.messages
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }

    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// The first message of `built` that differs from the previous request; `None` if there was none or it only grew.
    pub fn changed_at(&self, parts: &FixedParts, built: &Built) -> Option<usize> {
        let head = parts.since(&self.parts).is_some_and(|frame| {
            let model = frame.params.as_ref().is_some_and(|params| params.model != self.parts.params.model);
            frame.system.is_some() || frame.rules.is_some() || frame.tools.is_some() || model
        });
        let kept = self.kept(built);
        (self.requests > 0 && (head || kept < self.messages.len())).then_some(if head { 0 } else { kept })
    }

    fn kept(&self, built: &Built) -> usize {
        built
            .fingerprints
            .messages
            .iter()
            .zip(&self.messages)
            .take_while(|(now, before)| now == before)
            .count()
    }

    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Item(item) => self.newest = item.id,
            Record::Forms(batch) => {
                if matches!(batch.cause.kind, CauseKind::ReasoningBound | CauseKind::ReasoningRejected) {
                    self.reasoning_dropped += batch.items.len() as u64;
                }
                self.note_cause(&batch.cause);
            }
            Record::Archive { cause, .. } => self.note_cause(cause),
            Record::Rewind { to } => self.note(EpochCause::Rewind, &format!("rewound to before {to}")),
            Record::Unarchive {} => self.note(EpochCause::UserEdit, "uncompact: compaction undone"),
            Record::Revive { .. } => self.note(EpochCause::Rewind, "rewind undone"),
            Record::Frame(frame) => self.apply_frame(frame),
            Record::Sent(sent) => self.apply_sent(sent),
            _ => {}
        }
    }

    fn note_cause(&mut self, cause: &Cause) {
        if let Some(kind) = cause.kind.of_epoch() {
            self.note(kind, &cause.to_string());
        }
    }

    fn note(&mut self, kind: EpochCause, reason: &str) {
        let cause = CauseRecord { kind, reason: reason.to_owned() };
        if self.requests > 0 && !self.pending.contains(&cause) {
            self.pending.push(cause);
        }
    }

    fn apply_frame(&mut self, frame: &FrameRecord) {
        let (had_rules, model) = (self.parts.rules.is_some(), self.parts.params.model.clone());
        // A window change may also change the tools, but its cause is the model switch, so that is noted first.
        if let Some(params) = frame.params.as_ref().filter(|params| params.model != model) {
            self.note_head(EpochCause::ModelSwitch, &format!("from {model} to {}", params.model));
        }
        if frame.system.is_some() {
            self.note_head(EpochCause::FrontEndChanged, "system prompt changed");
        }
        if let Some(rules) = &frame.rules {
            let what = match (had_rules, rules.is_empty()) {
                (false, _) => "project rules added",
                (true, true) => "project rules removed",
                (true, false) => "project rules changed",
            };
            self.note_head(EpochCause::RulesChanged, what);
        }
        if frame.tools.is_some() {
            self.note_head(EpochCause::ToolsChanged, "tools changed");
        }
        self.parts.apply(frame);
    }

    fn note_head(&mut self, kind: EpochCause, reason: &str) {
        self.note(kind, reason);
        self.head_changed |= self.requests > 0;
    }

    fn apply_sent(&mut self, sent: &SentRecord) {
        self.messages.truncate(sent.kept);
        self.messages.extend(&sent.messages);
        self.tokens = sent.estimated;
        self.newest_sent = self.newest;
        self.requests += 1;
        self.epochs.requests += 1;
        self.pending.clear();
        self.head_changed = false;
        self.reasoning_dropped = 0;
        let Some(epoch) = &sent.epoch else { return };
        self.epochs.requests = 1;
        let Some(cause) = epoch.causes.first().map(|cause| cause.kind) else { return };
        let sums = &mut self.epochs.by_cause;
        let at = sums.iter().position(|sum| sum.cause == cause).unwrap_or(sums.len());
        if at == sums.len() {
            sums.push(EpochSum { cause, count: 0, tokens_lost: 0, tokens_saved: 0, reasoning: 0 });
        }
        let sum = &mut sums[at];
        sum.count += 1;
        sum.tokens_lost += epoch.tokens_lost;
        sum.tokens_saved += epoch.tokens_saved;
        sum.reasoning += epoch.reasoning;
    }

    /// The record of `built`, which is about to be sent. `cold`: the prompt cache has expired.
    pub fn sent_record(&self, built: &Built, cold: bool) -> SentRecord {
        let now = &built.fingerprints.messages;
        let kept = self.kept(built);
        let begins = self.requests > 0 && (self.head_changed || kept < self.messages.len());
        let epoch = begins.then(|| {
            let at = if self.head_changed { 0 } else { kept };
            let is_new = |subject: &Subject| matches!(subject, Subject::Item(id) if *id > self.newest_sent);
            let before = built.ledger.rows.iter().filter(|row| !is_new(&row.subject));
            EpochRecord {
                at,
                tokens_lost: if cold { 0 } else { self.lost(built, at) },
                tokens_saved: self.tokens.saturating_sub(before.map(|row| u64::from(row.tokens)).sum()),
                reasoning: self.reasoning_dropped,
                cold,
                causes: self.pending.clone(),
            }
        });
        SentRecord {
            ms: clock::now_ms(),
            hash: built.fingerprints.whole(),
            estimated: built.ledger.total(),
            kept,
            messages: now[kept..].to_vec(),
            epoch,
        }
    }

    /// Previously sent tokens from message `at` on, which must be read uncached.
    fn lost(&self, built: &Built, at: usize) -> u64 {
        let messages = &built.fingerprints.messages;
        let rows = &built.ledger.rows[built.ledger.rows.len() - messages.len()..];
        // Another model's cache has nothing of this session, not even the system prompt and tools.
        let fixed = &built.ledger.rows[..built.ledger.rows.len() - messages.len()];
        let switched = self.pending.iter().any(|cause| cause.kind == EpochCause::ModelSwitch);
        let head: u64 = if switched { fixed.iter().map(|row| u64::from(row.tokens)).sum() } else { 0 };
        let before: HashSet<&Fingerprint> = self.messages[at.min(self.messages.len())..].iter().collect();
        let again =
            messages.iter().zip(rows).skip(at).filter(|(fingerprint, _)| before.contains(fingerprint));
        head + again.map(|(_, row)| u64::from(row.tokens)).sum::<u64>()
    }
}
