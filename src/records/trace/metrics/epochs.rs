//! Epochs: runs of requests that each extend the previous one. Counts where they end, and how much of
//! earlier replies' reasoning a model would still have.

use std::collections::HashMap;

use crate::trace::simulate::ReplayedRequest;
use base::model::fingerprint::Fingerprint;
use base::model::request::Message;

#[derive(Clone, Copy, Debug, Default)]
pub struct EpochSums {
    /// Requests that didn't extend the previous one: at a user turn, with a cold cache, within a turn.
    pub breaks: [u64; 3],
    /// Reasoning blocks of earlier replies summed over requests, and how many were kept.
    pub blocks: u64,
    pub blocks_kept: u64,
}

impl EpochSums {
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.breaks.iter_mut().zip(other.breaks) {
            *mine += theirs;
        }
        self.blocks += other.blocks;
        self.blocks_kept += other.blocks_kept;
    }

    pub fn per_hundred(&self, cause: usize, requests: u64) -> f64 {
        self.breaks[cause] as f64 * 100.0 / requests.max(1) as f64
    }

    /// Share of blocks kept, 0–1; 1 if there were none.
    pub fn reasoning_kept(&self) -> f64 {
        if self.blocks == 0 { 1.0 } else { self.blocks_kept as f64 / self.blocks as f64 }
    }
}

/// Tracks one session. Assumes that each reply starts with one reasoning block.
pub struct EpochMeter<'a> {
    pub sums: EpochSums,
    kept: KeptBlocks<'a>,
}

enum KeptBlocks<'a> {
    /// Bound to the past: for each kept block, the number of messages before it, which must stay unchanged.
    Bound(Vec<usize>),
    /// Free: kept while the reply is unchanged. `in_view` counts how often each message is in view.
    Free { replies: &'a [Vec<Fingerprint>], messages: Vec<Fingerprint>, in_view: HashMap<Fingerprint, u32> },
}

impl<'a> EpochMeter<'a> {
    /// `replies` has the original text and calls of each reply.
    pub fn new(replies: &'a [Vec<Fingerprint>], binding: bool) -> Self {
        let kept = if binding {
            KeptBlocks::Bound(Vec::new())
        } else {
            KeptBlocks::Free { replies, messages: Vec::new(), in_view: HashMap::new() }
        };
        Self { sums: EpochSums::default(), kept }
    }

    /// The request shares its first `same` messages with the previous one, which had `previous`.
    pub fn record(&mut self, request: &ReplayedRequest<'_>, same: usize, previous: usize) {
        if same < previous {
            let cause = if request.cold {
                1
            } else if request.turn_start {
                0
            } else {
                2
            };
            self.sums.breaks[cause] += 1;
        }
        self.sums.blocks += request.n as u64;
        self.sums.blocks_kept += self.kept.update(request, same) as u64;
    }
}

impl KeptBlocks<'_> {
    fn update(&mut self, request: &ReplayedRequest<'_>, same: usize) -> usize {
        match self {
            Self::Bound(before) => {
                before.retain(|before| *before <= same);
                before.push(request.messages.len());
                before.len() - 1
            }
            Self::Free { replies, messages, in_view } => {
                for gone in messages.drain(same..) {
                    in_view.entry(gone).and_modify(|count| *count -= 1);
                }
                for message in &request.messages[same..] {
                    // Only a reply's own messages matter.
                    let own = matches!(message, Message::Assistant(_) | Message::Call(_));
                    let mark = if own { Fingerprint::of(message) } else { Fingerprint::default() };
                    *in_view.entry(mark).or_default() += 1;
                    messages.push(mark);
                }
                let there = |part: &Fingerprint| in_view.get(part).is_some_and(|count| *count > 0);
                replies.iter().take(request.n).filter(|parts| parts.iter().all(there)).count()
            }
        }
    }
}
