//! Cuts the middle out of long texts, and shortens long strings inside JSON. Pure.

use serde_json::Value;

use base::text;

/// The first two thirds and the last third of `max_bytes` of `whole`, and the number of bytes cut out.
pub fn head_and_tail(whole: &str, max_bytes: usize) -> (&str, &str, usize) {
    let head = text::floor_boundary(whole, max_bytes * 2 / 3);
    let tail = text::ceil_boundary(whole, whole.len().saturating_sub(max_bytes / 3)).max(head);
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
