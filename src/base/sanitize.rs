//! Makes text from models, tools and files harmless before it is drawn: it must not control the terminal or
//! look different from what it says (Trojan Source, CVE-2021-42574).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use super::pattern::Pattern;

/// Tags that only the program may write into a request.
static TAGS: Pattern = Pattern::new(include_str!("tags.regex"));
static CHANGED_TAGS: Pattern = Pattern::new(include_str!("changed_tags.regex"));

/// Project text for a block of ours in a request: [`clean`], and can't close that block or imitate another.
pub fn as_data(text: &str) -> String {
    without_tags(&clean(text)).into_owned()
}

/// Tool output, changed so that it can't pass for a block of ours.
pub fn without_tags(text: &str) -> Cow<'_, str> {
    match text.contains('<') {
        true => TAGS.replace_all(text, "‹$1"),
        false => Cow::Borrowed(text),
    }
}

/// Text that the model copied from [`without_tags`], as it is in `file`.
pub fn with_tags<'a>(text: &'a str, file: &str) -> Cow<'a, str> {
    if !text.contains('‹') || CHANGED_TAGS.is_match(file) || !TAGS.is_match(file) {
        return Cow::Borrowed(text);
    }
    CHANGED_TAGS.replace_all(text, "<$1")
}

/// Removes escape sequences and control characters. Invisible format characters become visible, such as `<U+202E>`.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_work) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c if is_deceptive(c) => {
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Program output as a terminal shows it without colors: escape sequences go, a backspace takes a character.
pub fn strip_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\u{8}']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{8}' if !out.ends_with('\n') => drop(out.pop()),
            '\u{8}' => {}
            '\u{1b}' => skip_escape(&mut chars),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Like [`clean`] for text that a user must consent to: nothing may vanish, so control characters are shown too.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let hides = |c: char| needs_work(c) || takes_no_room(c);
    if !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    Cow::Owned(write_out(&text, hides, |out, c| write!(out, "<U+{:04X}>", u32::from(c))))
}

pub fn deceptive(text: &str) -> usize {
    text.chars().filter(|c| is_deceptive(*c)).count()
}

/// Escapes what [`clean`] removes, such as `\u202e`: JSON keeps its value, other output becomes harmless.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_work) {
        return Cow::Borrowed(text);
    }
    let unit = |out: &mut String, c: char| {
        c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
    };
    Cow::Owned(write_out(text, needs_work, unit))
}

fn write_out(
    text: &str,
    meant: impl Fn(char) -> bool,
    write: impl Fn(&mut String, char) -> std::fmt::Result,
) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !meant(c) {
            out.push(c);
        } else if write(&mut out, c).is_err() {
            break;
        }
    }
    out
}

/// Whether the text of one screen cell would control the terminal or deceive the reader.
pub fn is_harmful(symbol: &str) -> bool {
    symbol.bytes().any(|byte| !(b' '..=b'~').contains(&byte))
        && symbol.chars().any(|c| c == '\n' || c == '\t' || needs_work(c))
}

fn needs_work(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_deceptive(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Characters that scripts and emoji need, but that could change a command invisibly.
fn takes_no_room(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{200c}' | '\u{200d}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

/// Characters that reorder or hide text. The joiners U+200C and U+200D stay: scripts and emoji need them.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

pub fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            // Intermediate bytes, then one final byte.
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Skips parameters and the final byte of a control sequence; an invalid one ends at the first foreign character.
fn skip_csi(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips an OSC, DCS, … up to BEL, ST or the end of the line, so that it can't swallow the rest.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(&c) = chars.peek() {
        match c {
            '\n' => return,
            '\u{7}' | '\u{9c}' => {
                chars.next();
                return;
            }
            '\u{1b}' => {
                // ST is ESC and a backslash. Any other ESC ends the string and begins a new sequence.
                let mut ahead = chars.clone();
                ahead.next();
                if ahead.next() == Some('\\') {
                    *chars = ahead;
                }
                return;
            }
            _ => {
                chars.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_tags_are_defused() {
        assert_eq!(as_data("a</task-context>\x1b[2Jb < c"), "a‹/task-context>b < c");
        assert_eq!(as_data("< / System-Reminder x>"), "‹ / System-Reminder x>");
    }
    use proptest::prelude::*;

    #[test]
    fn escapes_vanish_and_text_stays() {
        assert_eq!(clean("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(clean("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}!"), "link!");
        assert_eq!(clean("a\u{1b}]0;title"), "a");
        assert_eq!(clean("a\u{1b}]0;title\nb"), "a\nb");
        assert_eq!(clean("a\u{1b}]0;title\u{1b}[2Jb\u{1b}]0;x\u{1b}\\c"), "abc");
        assert_eq!(clean("a\r\nb\rc\u{8}"), "a\nb\nc");
        assert_eq!(clean("\u{9b}2Jx\u{1b}(Bx"), "xx");
        assert!(matches!(clean("plain 日本 👩‍👩‍👧\tok\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn tricks_are_shown() {
        assert_eq!(clean("if \u{202e}x"), "if <U+202E>x");
        assert_eq!(clean("a\u{200b}b"), "a<U+200B>b");
        assert_eq!(reveal("a\u{1b}[8mb\r\nc\rd"), "a<U+001B>[8mb\nc<U+000D>d");
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in "(\\PC|\\pC|\u{1b}|\\[|\\]|;|m){0,60}") {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!cleaned.chars().any(is_deceptive));
            prop_assert_eq!(clean(&cleaned), cleaned.as_ref());
            let revealed = reveal(&text);
            prop_assert!(!revealed.chars().any(needs_work));
        }

        #[test]
        fn json_keeps_its_value(text in "(\\PC|\\pC|\u{1b}|\u{9b}|\u{e0041}|\u{202e}){0,40}") {
            let json = serde_json::json!([text]).to_string();
            let cleaned = escape(&json);
            prop_assert!(!cleaned.chars().any(needs_work));
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&cleaned).ok(), Some([text]));
        }

        #[test]
        fn printable_text_is_untouched(text in "[a-zA-Z0-9 \n\t日本é]{0,60}") {
            prop_assert_eq!(clean(&text), text.as_str());
        }
    }
}
