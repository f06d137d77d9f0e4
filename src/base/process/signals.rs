//! Signals as a stream.

use std::sync::atomic::{AtomicI32, Ordering};

use futures_util::stream::{SelectAll, Stream, StreamExt as _};

use crate::system::os::{self, Signal};

static LAST: AtomicI32 = AtomicI32::new(0);

/// Yields whenever one of these arrives; they no longer end the program.
pub fn any(kinds: impl IntoIterator<Item = Signal>) -> impl Stream<Item = ()> + Unpin {
    let streams = kinds.into_iter().filter_map(|kind| os::on_signal(kind).ok());
    streams.map(Box::pin).collect::<SelectAll<_>>()
}

/// Handles them all, to stop the running command in its own session. Signals that the parent ignored stay ignored.
pub fn interrupts() -> impl Stream<Item = ()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kinds = [Signal::INT, Signal::TERM, Signal::HUP];
    let kinds = kinds.into_iter().filter(move |kind| !is_ignored(&status, kind.as_raw()));
    let each = kinds.map(|kind| any([kind]).inspect(move |()| LAST.store(kind.as_raw(), Ordering::Relaxed)));
    each.collect::<SelectAll<_>>()
}

/// A shell's exit code for a run interrupted by a signal.
pub fn exit_code() -> Option<u8> {
    let last = LAST.load(Ordering::Relaxed);
    u8::try_from(128 + last).ok().filter(|_| last > 0)
}

fn is_ignored(status: &str, number: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (number - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_stay_ignored() {
        let status = "Name:\tx\nSigIgn:\t0000000000001002\nSigCgt:\t0000000000000000\n";
        assert!(is_ignored(status, 2) && is_ignored(status, 13));
        assert!(!is_ignored(status, 15) && !is_ignored("", 2));
    }
}
