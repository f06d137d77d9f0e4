//! Wall-clock time, so that all records use one format.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 if the clock is set before it.
pub fn now_ms() -> u64 {
    to_ms(SystemTime::now())
}

pub fn to_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, milliseconds)
}

pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// In UTC, such as `2026-11-25T21:00:00.5Z`; empty for an impossible time.
pub fn utc(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

pub fn local_day(ms: u64) -> String {
    local(ms).get(..10).unwrap_or_default().to_owned()
}

pub fn local_minute(ms: u64) -> String {
    local(ms).get(..16).unwrap_or_default().to_owned()
}

/// Local date and time for users: `2026-03-01 14:05:09`.
pub fn local(ms: u64) -> String {
    let moment = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let here = moment.map(|moment| moment.to_zoned(jiff::tz::TimeZone::system()));
    here.map(|here| here.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}
