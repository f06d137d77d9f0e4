//! Filters a result before it is first sent, so they never break the prompt cache. They are nearly lossless: noise and
//! repetition go, errors and locations stay, and a line points to what was left out. Pure.

use std::borrow::Cow;

use super::{cut, failures, lines};
use crate::tokens::estimate::{self, estimate};
use base::model::item::ItemId;
use base::pattern::Pattern;
use base::sanitize;

#[derive(Clone, Copy, Debug)]
pub struct FilterOptions<'a> {
    pub shape: Shape,
    pub max_tokens: u32,
    /// Lines of the whole text, if this is a part of it.
    pub lines: Option<u64>,
    /// Where the whole text is stored, if this is a part of it.
    pub stored: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text that was asked for as it is; only its end is cut off.
    Text,
    /// A command's output, where repetition is noise.
    Log,
}

/// Up to this size, in bytes, filtering a log saves too little.
const SMALL_BYTES: usize = 6_000;
/// A filter must save this share of a text that fits.
const LEAST_SAVED: f64 = 0.3;

pub fn filter(id: ItemId, text: &str, options: FilterOptions) -> Option<String> {
    let mut out = on_terminal(text).into_owned();
    let mut is_cut = false;
    let mut pass = |filter: fn(&str) -> Option<String>, out: &mut String| {
        // What would be cut anyway is better spared by any filter.
        let least = if estimate(out) > options.max_tokens { 0.0 } else { LEAST_SAVED };
        if let Some(shorter) = filter(out)
            && (shorter.len() as f64) < out.len() as f64 * (1.0 - least)
        {
            (*out, is_cut) = (shorter, true);
        }
    };
    if options.shape == Shape::Log && text.len() > SMALL_BYTES {
        pass(lines::reduce_successes, &mut out);
        pass(failures::fold_equal, &mut out);
        pass(lines::fold_repeats, &mut out);
    }
    if estimate(&out) > options.max_tokens && options.shape == Shape::Text {
        (out, is_cut) = (estimate::beginning(&out, options.max_tokens).to_owned(), true);
    } else if estimate(&out) > options.max_tokens
        && let Some(shorter) = cut::head_tail(&out, options.max_tokens)
    {
        (out, is_cut) = (shorter, true);
    }
    if is_cut {
        let lines = options.lines.unwrap_or(text.lines().count() as u64);
        let recall = || format!("Recall {{\"id\":{}}}", id.0);
        let place = options.stored.map_or_else(recall, str::to_owned);
        out.push_str(&format!("\n[shortened from {lines} lines; full text: {place}]"));
    }
    (out.len() < text.len()).then_some(out)
}

static PYTEST_DOTS: Pattern = Pattern::new(r"^(?:\S+\.py )?\.[.sx]* +\[ *\d+%\]$");

/// Of a progress bar only the last state. Two empty lines in a row stay, because they may be code to be edited.
fn on_terminal(text: &str) -> Cow<'_, str> {
    let noise = ["\n\n\n\n", " \n", "%]\n"];
    if !text.contains(['\r', '\u{1b}', '\u{8}']) && !noise.iter().any(|noise| text.contains(noise)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        if PYTEST_DOTS.is_match(line) && lines.peek().is_some_and(|next| PYTEST_DOTS.is_match(next)) {
            continue;
        }
        let line = sanitize::strip_escapes(line);
        let shown = overwritten(line.trim_end_matches('\r'));
        let shown = shown.trim_end();
        empty = if shown.is_empty() { empty + 1 } else { 0 };
        if empty > 2 {
            continue;
        }
        out.push_str(shown);
        out.push('\n');
    }
    out.pop();
    Cow::Owned(out)
}

/// The last non-blank state of a line overwritten with carriage returns.
fn overwritten(line: &str) -> &str {
    line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clean_text_is_unchanged() {
        assert_eq!(
            filter(
                ItemId(1),
                "fine\nall good\n",
                FilterOptions { shape: Shape::Log, max_tokens: 100, lines: None, stored: None }
            ),
            None
        );
    }

    #[test]
    fn cut_text_has_a_pointer() {
        let text: String = (0..500).map(|n| format!("word{n} something else here\n")).collect();
        let short = filter(
            ItemId(7),
            &text,
            FilterOptions { shape: Shape::Log, max_tokens: 200, lines: Some(900), stored: None },
        )
        .unwrap_or_default();
        assert!(short.contains("[shortened from 900 lines; full text: Recall {\"id\":7}"), "{short}");
        assert!(estimate(&short) < 300, "{short}");
    }

    #[test]
    fn a_progress_bar_keeps_its_last_state() {
        assert_eq!(on_terminal(" 10%\r 50%\r100% done\r\nnext"), "100% done\nnext");
        assert_eq!(on_terminal("\u{1b}[32mok\u{1b}[0m\u{1b}]0;title\u{7}!"), "ok!");
        assert_eq!(on_terminal("a\n\n\n\n\nb  \n\n\nc"), "a\n\n\nb\n\n\nc");
        let dots = "....s [ 30%]\n..... [ 60%]\n..F.. [ 90%]\n. [100%]\n";
        assert_eq!(on_terminal(dots), "..... [ 60%]\n..F.. [ 90%]\n. [100%]\n");
        let files = "t/a.py ... [ 30%]\nt/b.py .. [ 60%]\nt/c.py .F [ 90%]\nt/d.py . [100%]\n";
        assert_eq!(on_terminal(files), "t/b.py .. [ 60%]\nt/c.py .F [ 90%]\nt/d.py . [100%]\n");
        assert!(matches!(on_terminal("plain\ntext"), Cow::Borrowed(_)));
    }
}
