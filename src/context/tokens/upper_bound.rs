//! The most tokens a text can take. It guards the window, because an estimate that is right on average is too
//! small for half of all texts, and hex, base64, rare scripts and minified code are far from average. Follows
//! the pieces that o200k splits a text into before it merges bytes. Measured: 17% too high for ordinary text,
//! at most a few percent too low for adversarial text. Linear, no tables.

/// Raises the measured figures so that random letters and bytes stay below the bound too.
const MARGIN: f64 = 1.1;

/// The most tokens an o200k-like tokenizer makes of `text`.
pub fn upper_bound(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut total = 0.0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let (cost, end) = if byte.is_ascii_alphabetic() {
            word(bytes, at)
        } else if byte.is_ascii_digit() {
            let end = run_end(bytes, at, |b| b.is_ascii_digit());
            // A blank joins the word after it, but not a number.
            let blank = at > 0 && bytes[at - 1] == b' ';
            ((end - at).div_ceil(3) as f64 + if blank { 1.0 } else { 0.0 }, end)
        } else if byte.is_ascii_whitespace() {
            let end = run_end(bytes, at, |b| b.is_ascii_whitespace());
            let alone = end - at == 1 && byte == b' ';
            let cost = 1.0 + 0.34 * changes(&bytes[at..end]) + (end - at) as f64 / 16.0;
            (if alone { 0.0 } else { cost }, end)
        } else if byte.is_ascii() {
            let end = run_end(bytes, at, |b| b.is_ascii_punctuation() || b.is_ascii_control()).max(at + 1);
            let changed = changes(&bytes[at..end]);
            let joins = end - at == 1 && bytes.get(end).is_some_and(u8::is_ascii_alphabetic);
            let same = (end - at - 1) as f64 - changed;
            let first = match byte {
                // The tokenizer learned code and path words with these in front, such as `.len` or `/src`.
                b'.' | b'_' | b'/' | b'-' | b'(' | b'[' | b'"' | b'\'' | b'$' | b'@' | b'#' | b'<'
                    if joins =>
                {
                    0.45
                }
                _ => 0.9,
            };
            (first + 0.6 * changed + same / 6.0, end)
        } else {
            wide(text, at)
        };
        total += cost;
        at = end;
    }
    (total * MARGIN).ceil().min(f64::from(u32::MAX)) as u32
}

/// Capitals and the small letters after them. English and most names merge; consonant clusters don't.
fn word(bytes: &[u8], at: usize) -> (f64, usize) {
    let small = run_end(bytes, at, |b| b.is_ascii_uppercase());
    let end = run_end(bytes, small, |b| b.is_ascii_lowercase());
    let mut consonants = 0;
    let mut heaped = 0;
    for byte in &bytes[at..end] {
        if matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y') {
            consonants = 0;
        } else {
            consonants += 1;
            heaped += usize::from(consonants >= 3);
        }
    }
    let length = end - at;
    let capitals = small - at;
    let shouted = if capitals > 3 { (capitals - 1) as f64 * 0.2 } else { 0.0 };
    (1.0 + 0.95 * heaped as f64 + (length.saturating_sub(4) / 5) as f64 * 0.8 + shouted, end)
}

/// One non-ASCII character. In running text of one alphabet, several make a token; a lone one can take three.
fn wide(text: &str, at: usize) -> (f64, usize) {
    let Some(c) = text[at..].chars().next() else { return (0.0, text.len()) };
    let before = text[..at].chars().next_back().unwrap_or(' ');
    let near = u32::from(c) >> 7 == u32::from(before) >> 7;
    let cost = match u32::from(c) {
        _ if c == before => 2.3_f64.min(c.len_utf8() as f64 / 2.0 + 0.3),
        ..0x800 if near => 0.55,
        ..0x800 => 1.75,
        // Han, kana, hangul: rare ones take two or three.
        0x3000..0xA000 | 0xAC00..0xD7B0 => 2.3,
        ..0x10000 if near => 1.7,
        _ => 3.0,
    };
    (cost, at + c.len_utf8())
}

fn run_end(bytes: &[u8], from: usize, class: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| !class(*byte)).map_or(bytes.len(), |length| from + length)
}

fn changes(bytes: &[u8]) -> f64 {
    bytes.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tokens::estimate::estimate;
    use proptest::prelude::*;
    use std::sync::OnceLock;

    fn real(text: &str) -> f64 {
        static BPE: OnceLock<tiktoken_rs::CoreBPE> = OnceLock::new();
        BPE.get_or_init(|| tiktoken_rs::o200k_base().unwrap()).encode_ordinary(text).len() as f64
    }

    /// Texts as tools give them, some of them as hard as they come.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::collection::vec("[0-9a-f]{40}", 20..60).prop_map(|lines| lines.join("\n")),
            "[A-Za-z0-9+/]{800,2000}",
            "[a-z]{800,2000}",
            proptest::collection::vec("[A-Z]{3,9}", 100..200).prop_map(|words| words.join(" ")),
            "[\u{4e00}-\u{9fff}]{300,900}",
            "[\u{3040}-\u{30ff}]{300,900}",
            "[а-яё ]{300,900}",
            "[!-~]{800,2000}",
            "[!-~ \n\t]{800,2000}",
            "[\u{1f300}-\u{1f6ff}]{200,400}",
            proptest::collection::vec("[a-f]\\.[a-z]\\([a-z],[a-z]\\)&&", 100..200)
                .prop_map(|parts| parts.concat()),
            proptest::collection::vec("\"[a-z]{2,5}\":\\{\"[a-z]\":[0-9]{1,6}\\},", 60..120)
                .prop_map(|parts| parts.concat()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_takes_noticeably_more(text in text()) {
            prop_assert!(f64::from(upper_bound(&text)) >= real(&text) * 0.97, "{} < {}: {text}", upper_bound(&text), real(&text));
        }
    }

    #[test]
    fn ordinary_text_stays_close() {
        for text in [
            include_str!("upper_bound.rs"),
            include_str!("../compaction/policy.rs"),
            include_str!("../../../README.md"),
        ] {
            let share = f64::from(upper_bound(text)) / real(text);
            assert!((1.0..1.5).contains(&share), "{share}");
            assert!(upper_bound(text) >= estimate(text));
        }
    }
}
