//! Grapheme and line boundaries of a text.

use unicode_segmentation::GraphemeCursor;

pub fn previous(text: &str, index: usize) -> usize {
    let mut cursor = GraphemeCursor::new(index, text.len(), true);
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

pub fn next(text: &str, index: usize) -> usize {
    let mut cursor = GraphemeCursor::new(index, text.len(), true);
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// The boundary at or after any `index`.
pub fn snap(text: &str, index: usize) -> usize {
    let index = text.ceil_char_boundary(index);
    let mut cursor = GraphemeCursor::new(index, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => next(text, index),
        _ => index,
    }
}

pub fn line_start(text: &str, index: usize) -> usize {
    text[..index].rfind('\n').map_or(0, |at| at + 1)
}

pub fn line_end(text: &str, index: usize) -> usize {
    text[index..].find('\n').map_or(text.len(), |at| index + at)
}
