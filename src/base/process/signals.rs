//! Signals as a stream.

use futures_util::stream::{SelectAll, Stream, unfold};
use tokio::signal::unix::{SignalKind, signal};

/// Any of these, as it comes; none of them ends the program anymore.
pub fn any(kinds: impl IntoIterator<Item = SignalKind>) -> impl Stream<Item = ()> + Unpin {
    let signals = kinds.into_iter().filter_map(|kind| signal(kind).ok());
    let streams = signals.map(|signal| {
        Box::pin(unfold(signal, async |mut signal| signal.recv().await.map(|()| ((), signal))))
    });
    streams.collect::<SelectAll<_>>()
}

/// Ctrl-C, SIGTERM and hang-ups. We must handle them all to stop the running command, which has its own
/// session. Signals that the parent ignored (`nohup`, background jobs of a script) stay ignored.
pub fn interrupts() -> impl Stream<Item = ()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    any(kinds.into_iter().filter(move |kind| !is_ignored(&status, kind.as_raw_value())))
}

/// Whether a `/proc/…/status` text shows signal `number` as ignored.
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
