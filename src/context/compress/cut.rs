//! Shortens long texts by cutting out the middle, except lines that look like errors; a single line is cut only if it is too long. Pure.

use super::lines;
use crate::tokens::estimate::estimate;
use base::text;

/// The first two thirds and the last third of `max_bytes` of `whole`, and the number of bytes cut out.
pub fn head_and_tail(whole: &str, max_bytes: usize) -> (&str, &str, usize) {
    let head = whole.floor_char_boundary(max_bytes * 2 / 3);
    let tail = whole.ceil_char_boundary(whole.len().saturating_sub(max_bytes / 3)).max(head);
    (&whole[..head], &whole[tail..], tail - head)
}

/// Shares of the budget for the head and for errors in the middle (more if there are many); the tail gets the rest.
const HEAD: f64 = 0.4;
const BETWEEN: f64 = 0.2;
const ERRORS: f64 = 0.6;
const LINE_CHARS: usize = 600;

/// At most about `max_tokens` of `whole`; `None` if it's shorter.
pub fn head_tail(whole: &str, max_tokens: u32) -> Option<String> {
    let lines: Vec<String> = whole.lines().map(|line| text::elide(line, LINE_CHARS)).collect();
    let sizes: Vec<u32> = lines.iter().map(|line| estimate(line) + 1).collect();
    if sizes.iter().sum::<u32>() <= max_tokens {
        return (lines.iter().map(|line| line.len() + 1).sum::<usize>() < whole.len())
            .then(|| lines.join("\n"));
    }
    let budget = f64::from(max_tokens);
    let mut keep = vec![false; lines.len()];
    let take = |order: &mut dyn Iterator<Item = usize>, keep: &mut Vec<bool>, budget: f64| {
        let mut spent = 0.0;
        for index in order {
            if keep[index] {
                continue;
            }
            spent += f64::from(sizes[index]);
            if spent > budget {
                break;
            }
            keep[index] = true;
        }
    };
    let errors = lines::errors_first_of_each_kind(lines.iter().map(String::as_str).enumerate());
    let wanted: u32 = errors.iter().map(|&index| sizes[index]).sum();
    let between = (f64::from(wanted) / budget).clamp(BETWEEN, ERRORS);
    let rest = (1.0 - between) / (1.0 - BETWEEN);
    take(&mut (0..lines.len()), &mut keep, budget * HEAD * rest);
    take(&mut (0..lines.len()).rev(), &mut keep, budget * (1.0 - HEAD - BETWEEN) * rest);
    // Clear error lines first, then lines that may be one, each with the line after it.
    take(&mut errors.into_iter(), &mut keep, budget * between);
    let others: Vec<usize> = (0..lines.len())
        .filter(|&index| lines::may_be_error(&lines[index]))
        .flat_map(|index| [index, index + 1])
        .filter(|&index| index < lines.len())
        .collect();
    let left = budget
        - keep.iter().zip(&sizes).filter(|(kept, _)| **kept).map(|(_, size)| f64::from(*size)).sum::<f64>();
    take(&mut others.into_iter(), &mut keep, left);
    Some(with_gaps(&lines, &keep))
}

const LEAST_GAP: usize = 3;

fn with_gaps(lines: &[String], keep: &[bool]) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let end = (at..lines.len()).find(|&index| keep[index] != keep[at]).unwrap_or(lines.len());
        if keep[at] || end - at < LEAST_GAP {
            out.extend_from_slice(&lines[at..end]);
        } else {
            out.push(format!("[… {} lines …]", end - at));
        }
        at = end;
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_the_middle_stay() {
        let mut lines: Vec<String> = (0..400).map(|n| format!("quiet line number {n}")).collect();
        lines[200] = "src/b.rs:7: error: it broke".to_owned();
        let short = head_tail(&lines.join("\n"), 200).unwrap_or_default();
        assert!(
            short.contains("quiet line number 0\n") && short.ends_with("quiet line number 399"),
            "{short}"
        );
        assert!(short.contains("error: it broke\nquiet line number 201"), "{short}");
        assert_eq!(head_tail("short", 200), None);
    }
}
