//! Converts a command's output, whatever its bytes, to text that can be shown.

use std::borrow::Cow;

use base::format::encoding::looks_binary;
use base::sanitize::strip_escapes;

/// Without colors, and with one `�` for a run of binary data.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = match strip_escapes(&text) {
        Cow::Owned(plain) => Cow::Owned(plain),
        Cow::Borrowed(_) => text,
    };
    let odd = |c: char| {
        c == char::REPLACEMENT_CHARACTER
            // BEL ends a title or link sequence; without it, the following text would become part of that.
            || c.is_control() && !matches!(c, '\n' | '\t' | '\r' | '\u{1b}' | '\u{8}' | '\u{7}')
    };
    if !text.contains(odd) {
        return text.into_owned();
    }
    let binary = looks_binary(&bytes[..bytes.len().min(8192)]);
    let mut out = String::with_capacity(text.len());
    let mut in_run = false;
    for c in text.chars() {
        if !odd(c) {
            out.push(c);
        } else if !(in_run && binary) {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        in_run = odd(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::sanitize;

    #[test]
    fn output_is_made_readable() {
        assert_eq!(readable("plain é\n".as_bytes()), "plain é\n");
        assert_eq!(readable(b"a\0\0\0\xff\xfeb\n"), "a�b\n");
        assert_eq!(readable(b"caf\xe9\n"), "caf�\n");
        assert_eq!(readable(b"\x1b[32m\x1b[1m5 passed\x1b[0m\x1b[32m in 1s\x1b[0m\n"), "5 passed in 1s\n");
        assert_eq!(sanitize::clean(&readable(b"\x1b]0;title\x07text\x01\n")), "text�\n");
    }
}
