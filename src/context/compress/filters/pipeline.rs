//! Runs the filters in order, and points to what they left out. Pure.

use super::head_tail;
use super::json_shape;
use super::repeats;
use super::success_lines;
use super::terminal;
use crate::tokens::estimate::estimate;
use base::model::item::ItemId;

#[derive(Clone, Copy, Debug)]
pub struct FilterOptions {
    /// A command's output rather than a file's text: only there is repetition noise.
    pub command: bool,
    pub max_tokens: u32,
}

pub fn filter(id: ItemId, text: &str, options: FilterOptions) -> Option<String> {
    let mut out = terminal::resolve(text).into_owned();
    let mut cut = false;
    let mut pass = |filter: fn(&str) -> Option<String>, out: &mut String| {
        if let Some(shorter) = filter(out) {
            (*out, cut) = (shorter, true);
        }
    };
    if options.command {
        pass(success_lines::reduce, &mut out);
        pass(repeats::fold, &mut out);
    }
    if estimate(&out) > options.max_tokens {
        pass(json_shape::outline, &mut out);
        if let Some(shorter) = head_tail::head_tail(&out, options.max_tokens) {
            (out, cut) = (shorter, true);
        }
    }
    if cut {
        out.push_str(&format!(
            "\n[shortened from {} lines; Recall {{\"id\":{}}} gives all]",
            text.lines().count(),
            id.0
        ));
    }
    (out.len() < text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clean_text_is_unchanged() {
        assert_eq!(
            filter(ItemId(1), "fine\nall good\n", FilterOptions { command: true, max_tokens: 100 }),
            None
        );
    }

    #[test]
    fn cut_text_has_a_pointer() {
        let text: String = (0..500).map(|n| format!("word{n} something else here\n")).collect();
        let short =
            filter(ItemId(7), &text, FilterOptions { command: false, max_tokens: 200 }).unwrap_or_default();
        assert!(short.contains("Recall {\"id\":7}"), "{short}");
        assert!(estimate(&short) < 300, "{short}");
    }
}
