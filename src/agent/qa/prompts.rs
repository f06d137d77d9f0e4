//! Prompts in sections, and the reviewer's.

use base::text;

/// Limit of a section, in bytes; the rest can be read in its file.
const PART_BYTES: usize = 24_000;

pub fn prompt(parts: &[(&str, &str)]) -> String {
    let parts = parts.iter().filter(|(_, text)| !text.trim().is_empty());
    let parts: Vec<String> = parts
        .map(|(name, text)| {
            let end = text::floor_boundary(text, PART_BYTES);
            let cut = if end < text.len() { "\n[cut: read the file]" } else { "" };
            format!("## {name}\n{}{cut}", text[..end].trim())
        })
        .collect();
    parts.join("\n\n")
}

/// `wanted` and `changes` are sections; the checks are the program's.
pub fn review(wanted: (&str, &str), changes: (&str, &str), checks: &str) -> String {
    prompt(&[wanted, changes, ("The project's own checks, run by the program just now", checks)])
}
