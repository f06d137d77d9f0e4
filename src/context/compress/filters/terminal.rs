//! What a terminal would show: escape sequences vanish, a carriage return restarts its line (of a progress
//! bar only the last state stays), trailing blanks and runs of empty lines go. Pure.

use std::borrow::Cow;

pub fn resolve(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\u{1b}', '\u{8}']) && !text.contains("\n\n\n") && !text.contains(" \n") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.split('\n') {
        let line = strip_escapes(line);
        let shown = overwritten(line.trim_end_matches('\r'));
        let shown = shown.trim_end();
        empty = if shown.is_empty() { empty + 1 } else { 0 };
        if empty > 1 {
            continue;
        }
        out.push_str(shown);
        out.push('\n');
    }
    out.pop();
    Cow::Owned(out)
}

/// The last state of an overwritten line: the text after the last carriage return that isn't blank.
fn overwritten(line: &str) -> &str {
    line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or("")
}

fn strip_escapes(line: &str) -> Cow<'_, str> {
    if !line.contains(['\u{1b}', '\u{8}']) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{8}' => {
                out.pop();
            }
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_bar_keeps_its_last_state() {
        assert_eq!(resolve(" 10%\r 50%\r100% done\r\nnext"), "100% done\nnext");
        assert_eq!(resolve("\u{1b}[32mok\u{1b}[0m\u{1b}]0;title\u{7}!"), "ok!");
        assert_eq!(resolve("a\n\n\n\nb  \n"), "a\n\nb\n");
        assert!(matches!(resolve("plain\ntext"), Cow::Borrowed(_)));
    }
}
