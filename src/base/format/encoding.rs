//! Lossless decoding and encoding of text. A file is edited as text only if encoding the decoded text gives
//! exactly its bytes; everything else is binary.

use std::collections::HashSet;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::WINDOWS_1252;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    /// Western European; all 256 byte values are characters, so nothing is lost.
    Windows1252,
    /// Another script with one or two bytes per character (windows-1251, Shift_JIS…), if clearly recognizable.
    OtherScript(&'static encoding_rs::Encoding),
    /// UTF-8 with some invalid bytes, each kept as a private-use character and written back unchanged.
    DamagedUtf8,
}

/// Invalid byte `b` of a damaged file becomes the character `DAMAGE + b`.
const DAMAGE: u32 = 0xF_7F00;

impl Encoding {
    pub fn has_mark(self) -> bool {
        matches!(self, Self::Utf8Bom | Self::Utf16Le | Self::Utf16Be)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with BOM",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Windows1252 => "Windows-1252",
            Self::OtherScript(encoding) => encoding.name(),
            Self::DamagedUtf8 => "UTF-8 with invalid bytes",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText;

pub fn looks_binary(head: &[u8]) -> bool {
    if has_utf16_bom(head) {
        return head.starts_with(&[0xFF, 0xFE, 0, 0]);
    }
    if head.contains(&0) {
        return true;
    }
    let odd = head
        .iter()
        .filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0C | 0x08 | 0x1B))
        .count();
    odd * 10 > head.len()
}

pub fn has_utf16_bom(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])
}

pub fn decode(bytes: &[u8]) -> Result<(String, Encoding), NotText> {
    if looks_binary(&bytes[..bytes.len().min(8192)]) {
        return Err(NotText);
    }
    let (text, encoding) = if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        (utf16(rest, u16::from_le_bytes)?, Encoding::Utf16Le)
    } else if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        (utf16(rest, u16::from_be_bytes)?, Encoding::Utf16Be)
    } else {
        let (rest, plain) = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) => (rest, Encoding::Utf8Bom),
            None => (bytes, Encoding::Utf8),
        };
        match std::str::from_utf8(rest) {
            Ok(text) => (text.to_owned(), plain),
            Err(_) => not_utf8(bytes),
        }
    };
    // A NUL anywhere means binary data.
    if text.contains('\0') || encode(&text, encoding).as_deref() != Ok(bytes) {
        return Err(NotText);
    }
    Ok((text, encoding))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(NotText);
    }
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).collect::<Result<String, _>>().map_err(|_| NotText)
}

/// Damaged UTF-8 if multi-byte characters are mostly valid, otherwise Windows-1252.
fn not_utf8(bytes: &[u8]) -> (String, Encoding) {
    let mut valid = 0;
    let mut invalid = 0;
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += chunk.invalid().len();
    }
    if valid < invalid {
        if let Some((text, encoding)) = other_script(bytes) {
            return (text, encoding);
        }
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        return (text.into_owned(), Encoding::Windows1252);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|&b| char::from_u32(DAMAGE + u32::from(b))));
    }
    (text, Encoding::DamagedUtf8)
}

/// With fewer, the script is unclear: two Western European letters look like one two-byte character.
const TWO_BYTE_CHARACTERS: usize = 4;
const ONE_BYTE_LETTERS: usize = 8;
/// A Western language repeats the same few letters of this kind.
const DIFFERENT_LETTERS: usize = 6;

/// Must be very likely and reversible. As Western text, an edit could split characters or add wrong letters.
fn other_script(bytes: &[u8]) -> Option<(String, Encoding)> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    if [encoding_rs::UTF_8, WINDOWS_1252].contains(&encoding) {
        return None;
    }
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let sure = if encoding.is_single_byte() {
        let high = || text.chars().filter(|c| !c.is_ascii());
        // Greek and later scripts; Latin ones can't be told apart by a few letters.
        let letters = || high().filter(|c| c.is_alphabetic() && u32::from(*c) >= 0x370);
        let count = letters().count();
        let different = letters().collect::<HashSet<_>>().len();
        count >= ONE_BYTE_LETTERS && different >= DIFFERENT_LETTERS && count * 3 >= high().count() * 2
    } else {
        text.chars().filter(|c| u32::from(*c) >= 0x2E80).count() >= TWO_BYTE_CHARACTERS
    };
    let exact = encoding.encode(&text).0 == bytes;
    (sure && exact).then(|| (text.into_owned(), Encoding::OtherScript(encoding)))
}

pub fn is_stand_in(c: char) -> bool {
    (DAMAGE..DAMAGE + 256).contains(&u32::from(c))
}

pub fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, char> {
    match encoding {
        Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
        Encoding::Utf8Bom => Ok([b"\xEF\xBB\xBF", text.as_bytes()].concat()),
        Encoding::Utf16Le => {
            Ok(b"\xFF\xFE".iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect())
        }
        Encoding::Utf16Be => {
            Ok(b"\xFE\xFF".iter().copied().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect())
        }
        Encoding::Windows1252 => legacy(text, WINDOWS_1252),
        Encoding::OtherScript(encoding) => legacy(text, encoding),
        Encoding::DamagedUtf8 => {
            let mut bytes = Vec::with_capacity(text.len());
            for c in text.chars() {
                match u32::from(c).checked_sub(DAMAGE).and_then(|byte| u8::try_from(byte).ok()) {
                    Some(byte) => bytes.push(byte),
                    None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            Ok(bytes)
        }
    }
}

fn legacy(text: &str, encoding: &'static encoding_rs::Encoding) -> Result<Vec<u8>, char> {
    let (bytes, _, lossy) = encoding.encode(text);
    if !lossy {
        return Ok(bytes.into_owned());
    }
    let culprit = |c: &char| encoding.encode(c.encode_utf8(&mut [0; 4])).2;
    Err(text.chars().find(culprit).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Text for display: the characters for invalid bytes become `�`.
pub fn shown(text: &str, encoding: Encoding) -> String {
    if encoding != Encoding::DamagedUtf8 {
        return text.to_owned();
    }
    text.chars().map(|c| if is_stand_in(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_encodings() {
        let kind = decode;
        assert_eq!(kind(b"a\xC3\xA9"), Ok(("aé".into(), Encoding::Utf8)));
        assert_eq!(kind(b"\xEF\xBB\xBFa"), Ok(("a".into(), Encoding::Utf8Bom)));
        assert_eq!(kind(b"\xFF\xFEa\0"), Ok(("a".into(), Encoding::Utf16Le)));
        assert_eq!(kind(b"\xFE\xFF\0a"), Ok(("a".into(), Encoding::Utf16Be)));
        assert_eq!(kind(b"caf\xE9"), Ok(("café".into(), Encoding::Windows1252)));
        assert_eq!(kind(b"\xC3\xA9\xC3\xA9\xFF").unwrap().1, Encoding::DamagedUtf8);
        assert_eq!(
            kind(b"\xEF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0!").map(|(text, encoding)| (text, encoding.name())),
            Ok(("привет, мир!".into(), "windows-1251"))
        );
        assert_eq!(kind(b"a\0b"), Err(NotText));
        assert_eq!(kind(b"\xFF\xFEa"), Err(NotText));
        assert_eq!(kind(b"\xFF\xFE\x00\xD8"), Err(NotText));
        assert_eq!(encode("日", Encoding::Windows1252), Err('日'));
    }

    proptest! {
        #[test]
        fn decoding_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok((text, encoding)) = decode(&bytes) {
                prop_assert_eq!(encode(&text, encoding), Ok(bytes));
            }
        }
    }
}
