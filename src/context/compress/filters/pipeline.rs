//! Runs the filters in order, and points to what they left out. Pure.

use super::head_tail;
use super::json_shape;
use super::repeats;
use super::success_lines;
use super::terminal;
use crate::tokens::estimate::estimate;
use base::model::item::ItemId;
use base::text;

#[derive(Clone, Copy, Debug)]
pub struct FilterOptions {
    pub shape: Shape,
    pub max_tokens: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text that was asked for as it is: cut, if at all, at one end.
    Text,
    /// A command's output, where repetition is noise.
    Log,
    Other,
}

/// Up to this size, in bytes, what a filter would save isn't worth a hole.
const SMALL_BYTES: usize = 6_000;
/// A filter must save this share.
const LEAST_SAVED: f64 = 0.3;

pub fn filter(id: ItemId, text: &str, options: FilterOptions) -> Option<String> {
    let mut out = terminal::resolve(text).into_owned();
    let mut cut = false;
    let mut pass = |filter: fn(&str) -> Option<String>, out: &mut String| {
        if let Some(shorter) = filter(out)
            && (shorter.len() as f64) < out.len() as f64 * (1.0 - LEAST_SAVED)
        {
            (*out, cut) = (shorter, true);
        }
    };
    if options.shape == Shape::Log && text.len() > SMALL_BYTES {
        pass(success_lines::reduce, &mut out);
        pass(repeats::fold, &mut out);
    }
    if estimate(&out) > options.max_tokens && options.shape == Shape::Text {
        (out, cut) = (beginning(&out, options.max_tokens), true);
    } else if estimate(&out) > options.max_tokens {
        pass(json_shape::outline, &mut out);
        if let Some(shorter) = head_tail::head_tail(&out, options.max_tokens) {
            (out, cut) = (shorter, true);
        }
    }
    if cut {
        out.push_str(&format!(
            "\n[shortened from {} lines; full text: Recall {{\"id\":{}}}]",
            text.lines().count(),
            id.0
        ));
    }
    (out.len() < text.len()).then_some(out)
}

fn beginning(whole: &str, max_tokens: u32) -> String {
    let (mut end, mut tokens) = (0, 0);
    for line in whole.split_inclusive('\n') {
        tokens += estimate(line);
        if tokens > max_tokens {
            break;
        }
        end += line.len();
    }
    // A single line may be longer.
    let end = if end == 0 { text::floor_boundary(whole, max_tokens as usize * 3) } else { end };
    whole[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clean_text_is_unchanged() {
        assert_eq!(
            filter(ItemId(1), "fine\nall good\n", FilterOptions { shape: Shape::Log, max_tokens: 100 }),
            None
        );
    }

    #[test]
    fn cut_text_has_a_pointer() {
        let text: String = (0..500).map(|n| format!("word{n} something else here\n")).collect();
        let short = filter(ItemId(7), &text, FilterOptions { shape: Shape::Other, max_tokens: 200 })
            .unwrap_or_default();
        assert!(short.contains("Recall {\"id\":7}"), "{short}");
        assert!(estimate(&short) < 300, "{short}");
    }
}
