//! Converts a server's response to text for the model.

use encoding_rs::{Encoding, WINDOWS_1252};
use tokio_util::sync::CancellationToken;

use super::client::Fetched;
use super::markdown;
use crate::pdf;
use base::format::encoding;
use base::search::words::listed;
use base::text::human_bytes;

/// A page declares its encoding within these first bytes.
const HEAD_BYTES: usize = 1_024;

const UNKNOWN: &str = "application/octet-stream";

#[derive(Debug, Default)]
pub struct Page {
    pub url: String,
    pub title: Option<String>,
    /// Markdown for HTML, other text unchanged; empty for a picture.
    pub text: String,
    pub picture: Option<Vec<u8>>,
    pub note: Option<&'static str>,
}

impl Page {
    /// Blocks: a large page takes a while.
    pub fn read(fetched: Fetched, cancel: &CancellationToken) -> Result<Self, String> {
        let Fetched { url, content_type, bytes, cut, .. } = fetched;
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let kind = if matches!(kind, "" | UNKNOWN) { sniffed(&bytes) } else { kind };
        let size = human_bytes(bytes.len() as u64);
        let note = cut.then_some("the page is larger: only its first 5 MB were read");
        let page = Self { url: url.to_string(), note, ..Self::default() };
        if matches!(kind, "text/html" | "application/xhtml+xml") {
            let parts = markdown::from_html(&decoded(&bytes, &content_type), &url);
            let note = parts.note.or(page.note);
            return Ok(Self { title: parts.title, text: parts.text, note, ..page });
        }
        if is_text(kind) {
            return Ok(Self { text: decoded(&bytes, &content_type), ..page });
        }
        match kind {
            _ if cut => Err(format!("it is {kind}, more than {size}")),
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
                Ok(Self { picture: Some(bytes), ..page })
            }
            "application/pdf" => match pdf::text(&bytes, cancel) {
                Ok(text) => Ok(Self { text, ..page }),
                Err(why) => Err(format!("it is a PDF of {size}; {why}")),
            },
            _ if encoding::looks_binary(&bytes[..bytes.len().min(8_192)]) => {
                Err(format!("it is {kind}, {size}, not text"))
            }
            _ => Ok(Self { text: decoded(&bytes, &content_type), ..page }),
        }
    }

    /// The beginning of an error response, on one line.
    pub fn told(fetched: &Fetched) -> String {
        let text = decoded(&fetched.bytes, &fetched.content_type);
        if !fetched.content_type.contains("html") && sniffed(&fetched.bytes) != "text/html" {
            return text;
        }
        let parts = markdown::from_html(&text, &fetched.url);
        parts.title.unwrap_or(parts.text)
    }
}

fn is_text(kind: &str) -> bool {
    const TEXTS: &str = "application/json application/xml application/javascript application/x-javascript application/yaml \
                         application/x-yaml application/toml application/x-ndjson application/x-sh";
    kind.starts_with("text/")
        || listed(TEXTS, kind)
        || ["+json", "+xml", "+yaml"].iter().any(|end| kind.ends_with(end))
}

fn sniffed(bytes: &[u8]) -> &'static str {
    let head = bytes[..bytes.len().min(HEAD_BYTES)].trim_ascii_start().to_ascii_lowercase();
    match () {
        () if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") => "text/html",
        () if head.starts_with(b"%pdf-") => "application/pdf",
        () => UNKNOWN,
    }
}

/// The text, decoded according to a byte order mark, the server, the page itself, or its bytes.
fn decoded(bytes: &[u8], content_type: &str) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]).to_ascii_lowercase();
    let named = charset(content_type).or_else(|| charset(&head).filter(|_| head.contains("<meta")));
    // Many servers always declare Latin-1, but real Latin-1 text is almost never valid UTF-8.
    let is_utf8 = || std::str::from_utf8(bytes).is_ok();
    if let Some(encoding) = named.filter(|named| *named != WINDOWS_1252 || !is_utf8()) {
        return encoding.decode(bytes).0.into_owned();
    }
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    match encoding::decode(bytes) {
        Ok((text, kind)) => encoding::shown(&text, kind),
        Err(_) if std::str::from_utf8(bytes).is_err() => WINDOWS_1252.decode(bytes).0.into_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).unwrap_or(rest.len());
    Encoding::for_label(&rest.as_bytes()[..end])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::Url;

    use super::*;

    fn read(content_type: &str, bytes: &[u8]) -> Result<Page, String> {
        let url = Url::parse("https://example.org/a/b").unwrap();
        let (content_type, bytes) = (content_type.into(), bytes.into());
        let fetched = Fetched { url, status: 200, content_type, bytes, cut: false };
        Page::read(fetched, &CancellationToken::new())
    }

    #[test]
    fn kinds_of_content() {
        let text = |content_type: &str, bytes: &[u8]| read(content_type, bytes).unwrap().text;
        assert_eq!(text("application/json", b"{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(text("text/markdown; charset=utf-8", b"# A <b>\n"), "# A <b>\n");
        assert_eq!(text("application/vnd.api+json", b"[]"), "[]");
        assert_eq!(text("", b"<!DOCTYPE html><p>hi"), "hi");
        assert_eq!(text("", b"plain"), "plain");
        assert_eq!(text("text/plain", b""), "");
        assert!(read("image/png", b"\x89PNG").unwrap().picture.is_some());
        for (content_type, bytes, says) in [
            ("application/pdf", &b"%PDF-1.7"[..], "a PDF"),
            ("application/zip", b"PK\x03\x04\0", "application/zip"),
            ("", b"\x7fELF\0\0", "not text"),
        ] {
            let error = read(content_type, bytes).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn encodings() {
        let text = |content_type: &str, bytes: &[u8]| read(content_type, bytes).unwrap().text;
        assert_eq!(text("text/html; charset=ISO-8859-1", b"<p>caf\xe9"), "café");
        assert_eq!(text("text/html; charset=ISO-8859-1", "<p>café".as_bytes()), "café");
        assert_eq!(text("text/html", b"<meta charset='windows-1251'><p>\xef\xf0\xe8"), "при");
        assert_eq!(
            text("text/html", b"<meta http-equiv=x content=\"text/html; charset=Shift_JIS\"><p>\x93\xfa"),
            "日"
        );
        assert_eq!(text("text/plain", b"\xff\xfea\0\xe9\0"), "aé");
        assert_eq!(text("text/plain", b"caf\xe9"), "café");
        assert_eq!(text("text/plain; charset=nonsense", "é".as_bytes()), "é");
        assert_eq!(text("text/plain", b"a\xc3"), "aÃ");
    }
}
