//! Shortens long texts: the middle is cut out, but for lines that look like errors; long strings in JSON are cut, or only its
//! shape is kept. Cuts inside a line only if that line alone is too long. Pure.

use serde_json::{Map, Value};

use super::lines;
use crate::tokens::estimate::estimate;
use base::text;

/// The first two thirds and the last third of `max_bytes` of `whole`, and the number of bytes cut out.
pub fn head_and_tail(whole: &str, max_bytes: usize) -> (&str, &str, usize) {
    let head = whole.floor_char_boundary(max_bytes * 2 / 3);
    let tail = whole.ceil_char_boundary(whole.len().saturating_sub(max_bytes / 3)).max(head);
    (&whole[..head], &whole[tail..], tail - head)
}

/// Replaces every string in `value` that `cut` shortens; returns whether there was one.
pub fn cut_strings(value: &mut Value, cut: &impl Fn(&str) -> Option<String>) -> bool {
    match value {
        Value::String(string) => cut(string).map(|short| *string = short).is_some(),
        Value::Array(values) => values.iter_mut().fold(false, |any, value| cut_strings(value, cut) | any),
        Value::Object(values) => values.values_mut().fold(false, |any, value| cut_strings(value, cut) | any),
        _ => false,
    }
}

/// Shares of the budget for the head and for the middle; the tail gets the rest. Many errors may take more.
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
    // Reports first, then lines that only resemble one, each with the line after it.
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

/// A hole of so few lines isn't worth its mark.
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

const ELEMENTS: usize = 3;
const ENTRIES: usize = 40;
const CHARS: usize = 200;
/// Deeper values are named by kind only.
const DEPTH: usize = 6;

/// The outline of a text that is one JSON object or array; otherwise `None`.
pub fn outline(whole: &str) -> Option<String> {
    let trimmed = whole.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let short = serde_json::to_string_pretty(&shape(&value, 0)).ok()?;
    (short.len() < whole.len()).then_some(short)
}

fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(string) => Value::String(text::elide(string, CHARS)),
        Value::Array(values) if depth >= DEPTH => Value::String(format!("[{} elements]", values.len())),
        Value::Object(entries) if depth >= DEPTH => Value::String(format!("{{{} entries}}", entries.len())),
        Value::Array(values) => {
            let mut kept: Vec<Value> =
                values.iter().take(ELEMENTS).map(|value| shape(value, depth + 1)).collect();
            if values.len() > ELEMENTS {
                kept.push(Value::String(format!("… {} more elements", values.len() - ELEMENTS)));
            }
            Value::Array(kept)
        }
        Value::Object(entries) => {
            let mut kept: Map<String, Value> = entries
                .iter()
                .take(ENTRIES)
                .map(|(key, value)| (key.clone(), shape(value, depth + 1)))
                .collect();
            if entries.len() > ENTRIES {
                kept.insert(
                    "…".to_owned(),
                    Value::String(format!("{} more entries", entries.len() - ENTRIES)),
                );
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
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

    #[test]
    fn arrays_keep_their_first_elements() {
        let whole =
            serde_json::json!({"items": (0..50).map(|n| serde_json::json!({"id": n})).collect::<Vec<_>>()});
        let short = outline(&whole.to_string()).unwrap_or_default();
        assert!(short.contains("… 47 more elements") && short.contains("\"id\": 2"), "{short}");
        assert_eq!(outline("no json"), None);
        assert_eq!(outline("{broken"), None);
    }
}
