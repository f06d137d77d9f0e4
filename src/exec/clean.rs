//! Text from models and tools, made harmless for a terminal. Knows nothing of who wrote it.

use std::borrow::Cow;

/// `text` without escape sequences, control characters (newline and tab stay) and the marks that reverse the direction
/// of writing: none of them is content, and each can make a terminal show something else than what is there.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // CSI: parameters, then one final character.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // OSC, DCS, SOS, PM, APC: up to BEL or ESC backslash.
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // Character set selection takes one more.
                Some('(' | ')' | '*' | '+' | '#' | '%') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            '\u{9d}' | '\u{90}' => skip_string(&mut chars),
            c if is_harmful(c) => {}
            c => cleaned.push(c),
        }
    }
    Cow::Owned(cleaned)
}

fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_stays() {
        for (text, expected) in [
            ("plain\n\ttext 日本", "plain\n\ttext 日本"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link", "alink"),
            ("a\r\nb\u{8}\u{7f}\u{0}", "a\nb"),
            ("\u{9b}31mc\u{85}", "c"),
            ("\u{202e}evil", "evil"),
            ("cut \u{1b}[31", "cut "),
            ("cut \u{1b}", "cut "),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }
}
