//! Parses the start of a reporting period.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

/// The start of `7d`, `24h`, `2w` or `2026-11-01`, in milliseconds since the Unix epoch.
pub fn since(text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid period '{text}'");
    if let Ok(date) = text.parse::<Date>() {
        let day = date.to_zoned(TimeZone::system()).map_err(|_| wrong())?;
        return Ok(u64::try_from(day.timestamp().as_millisecond()).unwrap_or(0));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let count: i64 = digits.parse().ok().filter(|count| (1..100_000).contains(count)).ok_or_else(wrong)?;
    let now = Zoned::now();
    let then = match &text[digits.len()..] {
        "h" => now.checked_sub(count.hours()),
        "d" => now.checked_sub(count.days()),
        "w" => now.checked_sub(count.weeks()),
        _ => return Err(wrong()),
    };
    let then = then.map_err(|_| wrong())?.timestamp().as_millisecond();
    Ok(u64::try_from(then).unwrap_or(0))
}
