//! Stops endless replies: larger than the model could produce, or repeating the same words, as small models
//! sometimes do.

use base::text;

/// An upper limit for the average token.
const MOST_BYTES_PER_TOKEN: u64 = 16;
/// Any answer may be this long, in bytes.
const USUAL_BYTES: u64 = 256 * 1024;
/// So many repeats filling so many bytes are a loop. Call arguments aren't checked: files may repeat more.
const REPEATS: usize = 20;
const LEAST_BYTES: usize = 2 * 1024;
/// Shorter pieces (rulers, zeros) may repeat for longer.
const LEAST_BLOCK: usize = 16;
const RULE_BYTES: usize = 32 * 1024;
/// Longest repeated piece that is detected, in bytes.
const LONGEST_BLOCK: usize = 1024;
const LOOK_EVERY: usize = 1024;

pub struct RepetitionGuard {
    most_bytes: u64,
    /// The limit for pieces shorter than a block.
    rule_bytes: usize,
    /// Bytes of text and thinking in this attempt.
    pub bytes: u64,
    tail: Vec<u8>,
    unseen: usize,
}

impl RepetitionGuard {
    pub fn new(window_tokens: u64, max_output_tokens: Option<u32>) -> Self {
        // Not every server counts thinking toward the limit.
        let limit = max_output_tokens.map_or(window_tokens, |limit| u64::from(limit) + window_tokens / 4);
        let most_bytes = (limit.min(window_tokens) * MOST_BYTES_PER_TOKEN).max(USUAL_BYTES);
        // A small window can't hold more than this.
        let rule_bytes = usize::try_from(window_tokens).unwrap_or(RULE_BYTES).clamp(LEAST_BYTES, RULE_BYTES);
        Self { most_bytes, rule_bytes, bytes: 0, tail: Vec::new(), unseen: 0 }
    }

    pub fn restart(&mut self) {
        (self.bytes, self.unseen) = (0, 0);
        self.tail.clear();
    }

    /// Takes the next piece of text or thinking; `Some` says why the reply must be stopped.
    pub fn take(&mut self, piece: &str) -> Option<String> {
        self.bytes += piece.len() as u64;
        if self.bytes > self.most_bytes {
            let size = text::human_bytes(self.bytes);
            return Some(format!("after {size} it is larger than the model's window or output limit"));
        }
        self.tail.extend_from_slice(piece.as_bytes());
        self.unseen += piece.len();
        if self.unseen < LOOK_EVERY {
            return None;
        }
        self.unseen = 0;
        self.tail.drain(..self.tail.len().saturating_sub(RULE_BYTES));
        let (tail, end) = (&self.tail, self.tail.len());
        let repeats = |period: usize, bytes: usize| {
            end.checked_sub(bytes).is_some_and(|start| tail[start + period..] == tail[start..end - period])
        };
        let looped = match (1..LEAST_BLOCK).find(|period| repeats(*period, LEAST_BYTES)) {
            Some(period) => repeats(period, self.rule_bytes),
            None => (LEAST_BLOCK..=LONGEST_BLOCK)
                .any(|period| repeats(period, (REPEATS * period).max(LEAST_BYTES))),
        };
        looped.then(|| {
            let piece = String::from_utf8_lossy(&tail[end - 80..]);
            format!("it repeats the same words over and over: …{}", text::one_line(&piece, 60))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(
        mut watch: RepetitionGuard,
        piece: impl Fn(usize) -> String,
        times: usize,
    ) -> Option<(usize, String)> {
        (0..times).find_map(|time| Some((time, watch.take(&piece(time))?)))
    }

    #[test]
    fn loops_are_noticed_soon_and_large_answers_late() {
        let watch = || RepetitionGuard::new(128_000, None);
        let (time, why) = taken(watch(), |_| "yadda yadda ".to_owned(), 100_000).unwrap_or_default();
        assert!(time * 12 < 48 * 1024 && why.contains("yadda"), "{time} {why}");
        let small = || RepetitionGuard::new(8_000, None);
        let (time, _) = taken(small(), |_| "yadda yadda ".to_owned(), 100_000).unwrap_or_default();
        assert!(time * 12 < 10 * 1024, "{time}");
        // Twenty times the same block, from 2 KiB on.
        let block = "I'll look at the file again.\n\nLet me check the tests once more, then:\n";
        let (time, _) = taken(small(), |_| block.to_owned(), 100).unwrap_or_default();
        assert!(time * block.len() < 4 * 1024, "{time}");
        let paragraph = "word ".repeat(150);
        let (time, _) =
            taken(watch(), |line| format!("{paragraph}{}\n", line / 1_000), 100).unwrap_or_default();
        assert!((19..24).contains(&time), "{time}");
        // A table of one shape whose rows differ.
        let row = |line: usize| format!("| src/module/file_{line}.rs | 0 | 0.00 | none | - | pass |\n");
        assert!(taken(small(), row, 60).is_none());
        assert!(taken(watch(), row, 2_000).is_none());
        assert!(taken(watch(), |_| "日本語。\n".to_owned(), 10_000).is_some());
        assert!(taken(watch(), |line| format!("line {line} of a long listing\n"), 40_000).is_none());
        // What people do ask for: zeros, rules, some equal rows, a picture between two texts, and again.
        for (row, most) in [
            ("| 0 | 0.00 | none | - |\n", 1_500),
            ("0,", 24 * 1024),
            ("=", 24 * 1024),
            ("  /\\_/\\\n ( o.o )\n", 1_500),
        ] {
            let times = most / row.len();
            let answer = |time: usize| {
                if time % (times + 1) == times { format!("Part {time}:\n") } else { row.to_owned() }
            };
            assert!(taken(watch(), answer, times * 5).is_none(), "{row}");
        }
        let (_, why) = taken(watch(), |line| format!("line {line}\n"), 1_000_000).unwrap_or_default();
        assert!(why.contains("window or output limit"), "{why}");
        // A limit of the output counts too, and every answer may have a usual size.
        assert!(
            taken(RepetitionGuard::new(8_000, Some(1)), |line| format!("line {line}\n"), 20_000).is_none()
        );
        assert!(
            taken(RepetitionGuard::new(8_000, Some(1)), |line| format!("line {line}\n"), 40_000).is_some()
        );
    }
}
