//! Parses server-sent events from chunks of bytes, or a complete reply. Follows the WHATWG rules (comments, multi-line
//! data, CR, LF and CRLF, a leading byte order mark), except that a last event without its blank line counts, because
//! servers that close early leave it out.

use serde_json::Value;

use super::error_mapping;
use base::model::provider::ProviderError;
use base::text;

pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Also limits streams of many empty events.
const STREAM_BYTES: usize = 128 * 1024 * 1024;
const WHOLE_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Kept to quote in an error.
const QUOTED_BYTES: usize = 400;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub name: String,
    /// The `data:` lines, joined by newlines.
    pub data: String,
}

#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    /// A following LF belongs to the same line end.
    after_cr: bool,
    /// Only the first line can start with a byte order mark.
    begun: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl SseParser {
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), ProviderError> {
        while !bytes.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if bytes[0] == b'\n' {
                    bytes = &bytes[1..];
                    continue;
                }
            }
            let end = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + part.len() > MAX_EVENT_BYTES {
                return Err(ProviderError::Protocol(format!(
                    "one event is larger than {} MiB",
                    MAX_EVENT_BYTES >> 20
                )));
            }
            self.line.extend_from_slice(part);
            if end.is_some() {
                self.after_cr = rest[0] == b'\r';
                bytes = &rest[1..];
                self.end_line(events);
            } else {
                bytes = rest;
            }
        }
        Ok(())
    }

    /// Also takes data that lacks only its line ends.
    pub fn finish(mut self, events: &mut Vec<SseEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.end_event(events);
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if !self.begun {
            self.begun = true;
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event(events);
        } else {
            self.field(text);
        }
        // Keep the buffer for the next line.
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.name = value.to_vec(),
            // llama.cpp until September 2025 (ggml-org/llama.cpp#16109).
            b"error" if !self.has_data => {
                (self.name, self.data, self.has_data) = (field.to_vec(), value.to_vec(), true);
            }
            // Comments have an empty field name; we don't use `id` and `retry`.
            _ => {}
        }
    }

    fn end_event(&mut self, events: &mut Vec<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(SseEvent { name: lossy(name), data: lossy(data) });
        }
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Detected by the first character, not by `content-type`, which imitators get wrong both ways.
pub enum Framing {
    Unknown,
    Events {
        parser: SseParser,
        /// Quoted if something other than events comes.
        beginning: Vec<u8>,
        size: usize,
    },
    Whole(Vec<u8>),
}

pub enum FrameEnd {
    /// The last ones may lack their formal end.
    Events(Vec<SseEvent>),
    Whole(Value),
}

impl Framing {
    pub fn push(&mut self, mut chunk: &[u8], events: &mut Vec<SseEvent>) -> Result<(), ProviderError> {
        if matches!(self, Self::Unknown) {
            chunk = chunk.strip_prefix(BYTE_ORDER_MARK).unwrap_or(chunk);
            match chunk.trim_ascii_start().first() {
                None => return Ok(()),
                Some(b'{' | b'[') => *self = Self::Whole(Vec::new()),
                Some(b'<') => {
                    let page = error_mapping::html_summary(&String::from_utf8_lossy(chunk));
                    return Err(ProviderError::Protocol(format!("it sent {page}")));
                }
                Some(_) => {
                    *self = Self::Events { parser: SseParser::default(), beginning: Vec::new(), size: 0 }
                }
            }
        }
        match self {
            Self::Events { parser, beginning, size } => {
                *size += chunk.len();
                if *size > STREAM_BYTES {
                    return Err(too_large("stream", STREAM_BYTES));
                }
                let room = QUOTED_BYTES.saturating_sub(beginning.len());
                beginning.extend_from_slice(&chunk[..chunk.len().min(room)]);
                parser.push(chunk, events)
            }
            Self::Whole(bytes) if bytes.len() + chunk.len() > WHOLE_ANSWER_BYTES => {
                Err(too_large("answer", WHOLE_ANSWER_BYTES))
            }
            Self::Whole(bytes) => {
                bytes.extend_from_slice(chunk);
                Ok(())
            }
            Self::Unknown => Ok(()),
        }
    }

    /// `any`: there was an event.
    pub fn end(self, any: bool) -> Result<FrameEnd, ProviderError> {
        match self {
            Self::Unknown => Err(ProviderError::Broken("it is empty".to_owned())),
            Self::Whole(bytes) => whole(&bytes).map(FrameEnd::Whole),
            Self::Events { parser, beginning, .. } => {
                let mut events = Vec::new();
                parser.finish(&mut events);
                if !any && events.is_empty() && !begins_like_events(&beginning) {
                    let quote = text::one_line(&String::from_utf8_lossy(&beginning), 120);
                    return Err(ProviderError::Broken(format!("expected events, got: {quote}")));
                }
                Ok(FrameEnd::Events(events))
            }
        }
    }
}

fn too_large(what: &str, limit: usize) -> ProviderError {
    ProviderError::TooLarge(format!("the {what} is larger than {} MiB", limit >> 20))
}

fn begins_like_events(beginning: &[u8]) -> bool {
    let beginning = beginning.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| beginning.starts_with(field))
}

fn whole(bytes: &[u8]) -> Result<Value, ProviderError> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_eof() {
            return ProviderError::Broken("it was cut off".to_owned());
        }
        let start = text::one_line(&String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTED_BYTES)]), 100);
        ProviderError::Protocol(format!("it is not valid JSON ({error}): {start}"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(portions: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for portion in portions {
            parser.push(portion, &mut events).unwrap();
        }
        parser.finish(&mut events);
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn fields_comments_and_line_ends() {
        let text = b"\xef\xbb\xbfevent: a\r\ndata: 1\rdata:2\n: keep-alive\n\n\ndata\n\nid: 7\n\ndata: last";
        assert_eq!(parse(&[text]), [event("a", "1\n2"), event("", ""), event("", "last")]);
    }

    #[test]
    fn split_line_end() {
        assert_eq!(parse(&[b"data: x\r", b"\n\r", b"\ndata: y\r\n\r\n"]), [event("", "x"), event("", "y")]);
    }

    #[test]
    fn split_character() {
        let text = "data: 日本\n\n".as_bytes();
        assert_eq!(parse(&[&text[..8], &text[8..]]), [event("", "日本")]);
    }

    #[test]
    fn endless_event() {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        let portion = vec![b'x'; MAX_EVENT_BYTES / 2 + 1];
        assert!(parser.push(&portion, &mut events).is_ok());
        assert!(matches!(parser.push(&portion, &mut events), Err(ProviderError::Protocol(_))));
    }
}
