//! How an answer comes: as events, or whole. Judged by its first character and not by `content-type`, which
//! imitators get wrong both ways.

use serde_json::Value;

use super::error_mapping;
use super::sse::{SseEvent, SseParser};
use crate::base::text;
use crate::provider::api::ProviderError;

/// Largest stream, in bytes: what many events with nothing in them come to.
const STREAM_BYTES: usize = 128 * 1024 * 1024;
/// Largest answer that is not streamed, in bytes.
const WHOLE_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How much of an answer is kept to say what it was, in bytes.
const GIST_BYTES: usize = 400;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What has come so far.
pub enum Framing {
    Unknown,
    Events {
        parser: SseParser,
        /// The beginning, to say what came instead of events.
        beginning: Vec<u8>,
        /// How much has come, in bytes.
        size: usize,
    },
    Whole(Vec<u8>),
}

/// What an answer that ended was.
pub enum FrameEnd {
    /// These last events, which may lack their formal end.
    Events(Vec<SseEvent>),
    Whole(Value),
}

impl Framing {
    /// Takes the next portion and appends the events that it completes.
    ///
    /// # Errors
    /// `Protocol` when it is a web page or too large.
    pub fn push(&mut self, mut chunk: &[u8], events: &mut Vec<SseEvent>) -> Result<(), ProviderError> {
        if matches!(self, Self::Unknown) {
            chunk = chunk.strip_prefix(BYTE_ORDER_MARK).unwrap_or(chunk);
            match chunk.trim_ascii_start().first() {
                None => return Ok(()),
                Some(b'{' | b'[') => *self = Self::Whole(Vec::new()),
                Some(b'<') => {
                    let gist = error_mapping::html_gist(&String::from_utf8_lossy(chunk));
                    return Err(ProviderError::Protocol { message: format!("it sent {gist}") });
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
                    let message = format!("the stream is larger than {} MiB", STREAM_BYTES >> 20);
                    return Err(ProviderError::TooLarge { message });
                }
                let room = GIST_BYTES.saturating_sub(beginning.len());
                beginning.extend_from_slice(&chunk[..chunk.len().min(room)]);
                parser.push(chunk, events)
            }
            Self::Whole(bytes) if bytes.len() + chunk.len() > WHOLE_ANSWER_BYTES => {
                Err(ProviderError::TooLarge { message: "the answer is larger than 64 MiB".to_owned() })
            }
            Self::Whole(bytes) => {
                bytes.extend_from_slice(chunk);
                Ok(())
            }
            Self::Unknown => Ok(()),
        }
    }

    /// The connection has ended; `any` says whether there was an event.
    ///
    /// # Errors
    /// `Broken` when nothing came, or too little; `Protocol` when it is no JSON.
    pub fn end(self, any: bool) -> Result<FrameEnd, ProviderError> {
        match self {
            Self::Unknown => Err(ProviderError::Broken { message: "the answer was empty".to_owned() }),
            Self::Whole(bytes) => whole(&bytes).map(FrameEnd::Whole),
            Self::Events { parser, beginning, .. } => {
                let mut events = Vec::new();
                parser.finish(&mut events);
                if !any && events.is_empty() && !begins_like_events(&beginning) {
                    let gist = text::one_line(&String::from_utf8_lossy(&beginning), 120);
                    return Err(ProviderError::Broken { message: format!("it sent no events, but: {gist}") });
                }
                Ok(FrameEnd::Events(events))
            }
        }
    }
}

fn begins_like_events(beginning: &[u8]) -> bool {
    let beginning = beginning.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| beginning.starts_with(field))
}

fn whole(bytes: &[u8]) -> Result<Value, ProviderError> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_eof() {
            return ProviderError::Broken { message: "the answer was cut off".to_owned() };
        }
        let start = text::one_line(&String::from_utf8_lossy(&bytes[..bytes.len().min(GIST_BYTES)]), 100);
        ProviderError::Protocol { message: format!("it is no valid JSON ({error}): {start}") }
    })
}
