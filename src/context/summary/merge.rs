//! Summaries of summaries without a model: the newest stays as written; when all together are too long, older
//! ones keep only their goals, key files and open items, then less. Pure.

use crate::tokens::estimate::estimate;
use base::text;

/// Parts that an older summary keeps (headings in `prompts/summary.md`).
const KEPT: [&str; 3] = ["objectives", "file system", "current plan"];
/// Lines kept of each such part, and characters per line.
const LINES: usize = 6;
const LINE_CHARS: usize = 160;

/// The levels in about `max_tokens`, the oldest reduced first. The newest is cut only if too long alone.
pub fn merge(mut levels: Vec<String>, max_tokens: u64) -> Vec<String> {
    levels.retain(|level| !level.trim().is_empty());
    let size = |levels: &[String]| -> u64 { levels.iter().map(|level| u64::from(estimate(level))).sum() };
    for lines in [LINES, 2, 1, 0] {
        for at in 0..levels.len().saturating_sub(1) {
            if size(&levels) <= max_tokens {
                return levels;
            }
            levels[at] = reduced(&levels[at], lines);
        }
    }
    levels.retain(|level| !level.is_empty());
    if let Some(newest) = levels.last_mut() {
        let mut lines = LINES * 4;
        while u64::from(estimate(newest)) > max_tokens && lines > 0 {
            *newest = newest.lines().take(newest.lines().count() * 3 / 4).collect::<Vec<_>>().join("\n");
            lines -= 1;
        }
    }
    levels
}

fn reduced(summary: &str, lines: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut left = if summary.trim_start().starts_with('#') { 0 } else { lines };
    for line in summary.lines() {
        if line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            left = if KEPT.iter().any(|kept| heading.starts_with(kept)) { lines } else { 0 };
            if left > 0 {
                out.push(line.to_owned());
            }
        } else if left > 0 && !line.trim().is_empty() {
            out.push(text::elide(line, LINE_CHARS));
            left -= 1;
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str, lines: usize) -> String {
        let long: String =
            (0..lines).map(|n| format!("- {name} insight {n} that is somewhat long\n")).collect();
        format!(
            "## Objectives & Status\n- goal of {name}\n## Key Insights & Decisions\n{long}## Current Plan & Progress\n- open of {name}\n"
        )
    }

    #[test]
    fn older_levels_keep_goals_and_open_items() {
        let levels = vec![level("first", 60), level("second", 60), level("third", 20)];
        let merged = merge(levels.clone(), 600);
        assert_eq!(merged.len(), 3);
        assert!(merged[0].contains("goal of first") && merged[0].contains("open of first"), "{}", merged[0]);
        assert!(!merged[0].contains("insight") && !merged[1].contains("insight"));
        assert_eq!(merged[2], levels[2], "the newest stays");
        assert_eq!(merge(levels.clone(), 100_000), levels);
        let tiny = merge(levels, 120);
        assert!(estimate(&tiny.join("\n")) <= 120, "{tiny:?}");
    }
}
