//! The stable prefix: each request begins with the bytes of the one before, or a break is recorded with its causes and
//! its cost (SPEC §5). Compares fingerprints, hashes nothing. Knows only the log's records, so that a resumed session
//! compares with what was really sent before.

use std::collections::HashSet;

use super::builder::Built;
use super::parts::FixedParts;
use crate::base::clock;
use crate::model::fingerprint::Fingerprint;
use crate::protocol::ledger::{BreakCause, BreakSum};
use crate::session::record::{BreakRecord, CauseRecord, FrameRecord, Record, SentRecord};

/// What was sent last, and what has happened to it since.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// The fixed parts as recorded.
    parts: FixedParts,
    /// Of every message of the last request.
    messages: Vec<Fingerprint>,
    volatile: usize,
    requests: u64,
    pending: Vec<CauseRecord>,
    /// Whether something in front of all messages changed since the last request.
    head_changed: bool,
    sums: Vec<BreakSum>,
}

/// The kind of break that a cause in `Record::Forms` or `Record::Archive` makes; `None` when it changes nothing that was
/// sent.
fn break_cause(cause: &str) -> Option<BreakCause> {
    let (word, rest) = cause.split_once(':').unwrap_or((cause, ""));
    match word {
        "filtered on arrival" => None,
        "batch" if !rest.trim_start().starts_with("soft cap") => Some(BreakCause::TurnEndCompression),
        "drop" | "restore" | "uncompact" => Some(BreakCause::UserEdit),
        _ => Some(BreakCause::Compaction),
    }
}

impl Prefix {
    /// The recorded fixed parts.
    pub fn parts(&self) -> &FixedParts {
        &self.parts
    }

    /// The messages of the last request.
    pub fn messages(&self) -> &[Fingerprint] {
        &self.messages
    }

    /// Requests sent so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The breaks so far, by cause.
    pub fn sums(&self) -> &[BreakSum] {
        &self.sums
    }

    /// Applies a record that was written to, or read from, the log.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Forms { cause, .. } | Record::Archive { cause, .. } => {
                if let Some(kind) = break_cause(cause) {
                    self.note(kind, cause);
                }
            }
            Record::Rewind { to } => self.note(BreakCause::Rewind, &format!("rewound to before {to}")),
            Record::Unarchive {} => self.note(BreakCause::UserEdit, "uncompact: compaction undone"),
            Record::Revive { .. } => self.note(BreakCause::Rewind, "rewind undone"),
            Record::Frame(frame) => self.apply_frame(frame),
            Record::Sent(sent) => self.apply_sent(sent),
            _ => {}
        }
    }

    fn note(&mut self, kind: BreakCause, reason: &str) {
        let cause = CauseRecord { kind, reason: reason.to_owned() };
        if self.requests > 0 && !self.pending.contains(&cause) {
            self.pending.push(cause);
        }
    }

    fn apply_frame(&mut self, frame: &FrameRecord) {
        let (had_rules, model) = (self.parts.rules.is_some(), self.parts.params.model.clone());
        if frame.system.is_some() {
            self.note_head(BreakCause::RulesChanged, "system prompt changed");
        }
        if let Some(rules) = &frame.rules {
            let what = match (had_rules, rules.is_empty()) {
                (false, _) => "project rules added",
                (true, true) => "project rules removed",
                (true, false) => "project rules changed",
            };
            self.note_head(BreakCause::RulesChanged, what);
        }
        if frame.tools.is_some() {
            self.note_head(BreakCause::ToolsChanged, "tools changed");
        }
        if let Some(params) = frame.params.as_ref().filter(|params| params.model != model) {
            self.note_head(BreakCause::ModelSwitch, &format!("from {model} to {}", params.model));
        }
        self.parts.apply(frame);
    }

    fn note_head(&mut self, kind: BreakCause, reason: &str) {
        self.note(kind, reason);
        self.head_changed |= self.requests > 0;
    }

    fn apply_sent(&mut self, sent: &SentRecord) {
        self.messages.truncate(sent.kept);
        self.messages.extend(&sent.messages);
        self.volatile = sent.volatile;
        self.requests += 1;
        self.pending.clear();
        self.head_changed = false;
        let Some(broken) = &sent.broken else { return };
        let Some(cause) = broken.causes.first().map(|cause| cause.kind) else { return };
        match self.sums.iter_mut().find(|sum| sum.cause == cause) {
            Some(sum) => {
                sum.count += 1;
                sum.tokens_lost += broken.tokens_lost;
            }
            None => self.sums.push(BreakSum { cause, count: 1, tokens_lost: broken.tokens_lost }),
        }
    }

    /// The record of `built`, which is about to be sent.
    pub fn sent_record(&self, built: &Built) -> SentRecord {
        let now = &built.fingerprints.messages;
        let kept = now.iter().zip(&self.messages).take_while(|(now, before)| now == before).count();
        let stable_before = self.messages.len() - self.volatile.min(self.messages.len());
        let broken = (self.requests > 0 && (self.head_changed || kept < stable_before)).then(|| {
            let at = if self.head_changed { 0 } else { kept };
            BreakRecord { at, tokens_lost: self.lost(built, at, stable_before), causes: self.pending.clone() }
        });
        SentRecord {
            ms: clock::now_ms(),
            hash: built.fingerprints.whole(),
            estimated: built.ledger.total(),
            kept,
            messages: now[kept..].to_vec(),
            volatile: built.volatile,
            broken,
        }
    }

    /// Tokens behind the break that had been sent before.
    fn lost(&self, built: &Built, at: usize, stable_before: usize) -> u64 {
        let messages = &built.fingerprints.messages;
        let rows = &built.ledger.rows[built.ledger.rows.len() - messages.len()..];
        // Another model's cache holds nothing of this session, not even what stands before the messages.
        let fixed = &built.ledger.rows[..built.ledger.rows.len() - messages.len()];
        let switched = self.pending.iter().any(|cause| cause.kind == BreakCause::ModelSwitch);
        let head: u64 = if switched { fixed.iter().map(|row| u64::from(row.tokens)).sum() } else { 0 };
        let before: HashSet<&Fingerprint> =
            self.messages[at.min(stable_before)..stable_before].iter().collect();
        let again =
            messages.iter().zip(rows).skip(at).filter(|(fingerprint, _)| before.contains(fingerprint));
        head + again.map(|(_, row)| u64::from(row.tokens)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_forms_and_archives() {
        use BreakCause::{Compaction, TurnEndCompression, UserEdit};
        let causes = [
            ("filtered on arrival", None),
            ("batch: pays (gain 9 × price 0.10 × R 10 = 9 > tail 1 × 0.90 = 1)", Some(TurnEndCompression)),
            ("batch: soft cap (61000 > 60000, landing at 48000)", Some(Compaction)),
            ("compaction", Some(Compaction)),
            ("trim: tool results", Some(Compaction)),
            ("drop: by the user", Some(UserEdit)),
            ("restore: by the user", Some(UserEdit)),
        ];
        for (cause, kind) in causes {
            assert_eq!(break_cause(cause), kind, "{cause}");
        }
    }
}
