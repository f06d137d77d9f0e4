//! Wall-clock time in one place, so that records carry one format. Knows nothing of sessions.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 when the clock stands before it.
pub fn now_ms() -> u64 {
    to_ms(SystemTime::now())
}

/// `time` as milliseconds since the Unix epoch; 0 when it lies before it.
pub fn to_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
