//! Rebuilds every request of a session from its log and checks it against the fingerprints recorded when it
//! was sent. Needs no network, prompts or project.

use super::session_replay::SessionReplay;
use crate::builder::Built;
use crate::ledger::Subject;
use crate::session::record::{EpochRecord, Record, SentRecord};
use base::model::fingerprint::Fingerprint;

#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    pub number: u64,
    /// Estimated, uncalibrated.
    pub tokens: u64,
    pub check: ReplayCheck,
    pub epoch: Option<EpochRecord>,
    pub answered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayCheck {
    Same,
    Differs(String),
    /// Sent by an earlier version that recorded no hash.
    NoHash,
}

/// Replays the log; `sink` gets each request that could be rebuilt, with its number from 1.
pub fn play(records: &[Record], mut sink: impl FnMut(u64, &Built)) -> Vec<Replayed> {
    let mut replay = SessionReplay::default();
    let mut requests: Vec<Replayed> = Vec::new();
    let mut open = false;
    for record in records {
        match record {
            Record::Sent(sent) => {
                let built = replay.build();
                replay.apply(record);
                let number = requests.len() as u64 + 1;
                sink(number, &built);
                requests.push(Replayed {
                    number,
                    tokens: built.ledger.total(),
                    check: compare(&built, sent, &replay),
                    epoch: sent.epoch.clone(),
                    answered: false,
                });
                open = true;
                continue;
            }
            Record::Request(request) => match requests.last_mut().filter(|_| open) {
                Some(last) => last.answered = true,
                None => requests.push(Replayed {
                    number: requests.len() as u64 + 1,
                    tokens: request.estimated,
                    check: ReplayCheck::NoHash,
                    epoch: None,
                    answered: true,
                }),
            },
            _ => {}
        }
        open &= !matches!(record, Record::Request(_));
        replay.apply(record);
    }
    requests
}

fn compare(built: &Built, sent: &SentRecord, replay: &SessionReplay) -> ReplayCheck {
    // Hash the request's bytes, not the figures that the builder kept.
    let now = base::model::fingerprint::Parts::of(&built.request);
    if now.whole() == sent.hash {
        return ReplayCheck::Same;
    }
    let recorded = replay.prefix.messages();
    let first = now.messages.iter().zip(recorded).position(|(now, then)| now != then);
    let at = match first {
        Some(at) => at,
        None if now.messages.len() == recorded.len() => {
            return ReplayCheck::Differs(
                "in the system prompt, the rules, the tool schemas or the parameters".to_owned(),
            );
        }
        None => now.messages.len().min(recorded.len()),
    };
    ReplayCheck::Differs(describe(built, at, recorded))
}

fn describe(built: &Built, at: usize, recorded: &[Fingerprint]) -> String {
    let rows = &built.ledger.rows[built.ledger.rows.len() - built.request.messages.len()..];
    let Some(row) = rows.get(at) else {
        return format!("at message {}, which is missing ({} were sent)", at + 1, recorded.len());
    };
    let what = match row.subject {
        Subject::Item(id) => format!("{id}, {}", row.form.into_str()),
        Subject::Part(name) => name.to_owned(),
    };
    let extra = if at >= recorded.len() { ", which was not sent" } else { "" };
    format!("at message {}{extra} ({} {what})", at + 1, row.layer.label())
}
