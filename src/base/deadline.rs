//! When a run must end (`--max-minutes`), counted from the start of the process.

use std::time::{Duration, Instant};

use crate::text;

/// Time that a wait leaves for the work after it.
const RESERVE: Duration = Duration::from_secs(15);
/// Shorter runs get no early reminder.
const SHORT: Duration = Duration::from_secs(180);
const LAST_WORDS: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    begun: Instant,
    limit: Duration,
}

impl Deadline {
    pub fn new(begun: Instant, limit: Duration) -> Self {
        Self { begun, limit }
    }

    pub fn at(&self) -> Instant {
        self.begun + self.limit
    }

    pub fn left(&self) -> Duration {
        self.at().saturating_duration_since(Instant::now())
    }

    pub fn has_third(&self) -> bool {
        self.left() * 3 >= self.limit
    }

    pub fn longest_wait(&self) -> Duration {
        self.left().saturating_sub(RESERVE)
    }

    pub fn limit_text(&self) -> String {
        minutes(self.limit)
    }

    /// How far the run is: 0 at first, 1 when most of the time is used, 2 when it is almost over.
    pub fn stage(&self) -> u8 {
        let (left, used) = (self.left(), self.limit.saturating_sub(self.left()));
        let last = (self.limit / 20).max(LAST_WORDS);
        match () {
            () if left <= last && self.limit >= SHORT => 2,
            () if used >= self.limit * 4 / 5 => 1,
            () => 0,
        }
    }

    pub fn words(&self, stage: u8) -> String {
        let used = self.limit.saturating_sub(self.left());
        match stage {
            2 => {
                let seconds = text::plural(self.left().as_secs() as usize, "second");
                format!("{seconds} left. Stop here, and say what is done and what is not.")
            }
            _ => format!(
                "{} of {} are used. Get the work into a working state now, and leave out what won't fit.",
                number(used.as_secs_f64() / 60.0),
                minutes(self.limit)
            ),
        }
    }
}

fn minutes(time: Duration) -> String {
    let minutes = time.as_secs_f64() / 60.0;
    format!("{} minute{}", number(minutes), if minutes == 1.0 { "" } else { "s" })
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_by_time() {
        let at = |limit_s: u64, used_s: u64| {
            let begun = Instant::now().checked_sub(Duration::from_secs(used_s)).unwrap_or_else(Instant::now);
            Deadline::new(begun, Duration::from_secs(limit_s))
        };
        let stages: Vec<u8> = [(1800, 60), (1800, 1450), (1800, 1720), (60, 50), (60, 59)]
            .iter()
            .map(|(l, u)| at(*l, *u).stage())
            .collect();
        assert_eq!(stages, [0, 1, 2, 1, 1]);
        assert_eq!(
            at(1800, 1440).words(1),
            "24 of 30 minutes are used. Get the work into a working state now, and leave out what won't fit."
        );
        assert_eq!(
            (at(90, 0).limit_text(), at(60, 0).limit_text()),
            ("1.5 minutes".to_owned(), "1 minute".to_owned())
        );
        assert_eq!(at(10, 5).longest_wait(), Duration::ZERO);
    }
}
