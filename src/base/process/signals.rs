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
