//! Calls repeated with the same effect: the same failure again, or a few calls in a cycle.

use crate::work::work_log::CallMark;

/// Newest calls searched for a failure: other calls of its reply may follow it.
const OF_REPLY: usize = 3;

#[derive(Debug, PartialEq, Eq)]
pub struct Repeat {
    pub calls: Vec<u64>,
    pub failures: usize,
    pub waits: bool,
    /// How often a cycle of two or three calls has repeated with the same results.
    pub rounds: usize,
    length: usize,
    pub shown: String,
}

impl Repeat {
    pub fn words(&self) -> String {
        let (what, times, how) = match (self.failures > self.rounds, self.length) {
            (true, _) => ("call has failed", self.failures, "error"),
            (_, 1) => ("call has repeated", 2 * self.rounds + 1, "result"),
            _ => ("calls have repeated", self.rounds, "results"),
        };
        format!(
            "The same {what} {times} times with the same {how}. It won't work as it is: look at the file or the state \
             again, try another way, or say that it can't be done."
        )
    }
}

/// `calls` are those since the last change, oldest first.
pub fn of<'a>(calls: impl DoubleEndedIterator<Item = &'a CallMark>) -> Option<Repeat> {
    let newest: Vec<&CallMark> = calls.rev().collect();
    let failure = newest.iter().take(OF_REPLY).find(|call| call.failed && !call.polls);
    let last = *failure.or(newest.first())?;
    let failures = failure.map_or(0, |last| newest.iter().filter(|call| call.is_same(last)).count());
    let (rounds, length) = (1..=3).map(|length| (rounds(&newest, length), length)).max().unwrap_or_default();
    let cycle = newest.iter().take(if rounds > 1 { length } else { 0 });
    let calls = cycle.map(|call| call.call).chain([last.call]).collect();
    let (shown, waits) = (last.shown.clone(), last.waits);
    (failures > 1 || rounds > 1).then_some(Repeat { calls, failures, waits, rounds, length, shown })
}

/// How often the newest `length` different calls repeat in order. A single call counts half, because it may be waiting.
fn rounds(newest: &[&CallMark], length: usize) -> usize {
    let Some(cycle) = newest.get(..length) else { return 0 };
    let is_one = cycle.iter().all(|call| call.is_same(cycle[0]));
    if is_one && (length > 1 || cycle[0].failed) || cycle.iter().any(|call| call.polls) {
        return 0;
    }
    let same =
        |part: &&[&CallMark]| part.len() == length && part.iter().zip(cycle).all(|(a, b)| a.is_same(b));
    let count = newest.chunks(length).take_while(same).count();
    if is_one { count.saturating_sub(1) / 2 } else { count }
}
