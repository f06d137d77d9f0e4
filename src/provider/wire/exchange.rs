//! One request and its streamed answer: sends, reads with an idle limit, and hands events to the dialect's decoder.
//! Knows no dialect; everything that may be tried again goes through `retry`.

use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::fault;
use super::http::Endpoint;
use super::retry::{Pace, with_retries};
use super::sse::{SseEvent, SseParser};
use crate::base::text;
use crate::model::stream::StreamEvent;
use crate::provider::api::{Answer, ProviderError};

/// Largest answer that is not streamed, in bytes.
const WHOLE_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How long to wait for the formal end of an answer that has said why it ended.
const END_GRACE: Duration = Duration::from_secs(5);
/// Keep-alive comments prolong the idle limit, but only so many times.
const KEEP_ALIVE_FACTOR: u32 = 10;

/// Whether more of the answer is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    More,
    Done,
}

/// A dialect's half of reading: turns one answer's events into ours. Made anew for each try.
pub trait Decoder: Send {
    /// Takes one event.
    ///
    /// # Errors
    /// When the event is an error or makes no sense.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<Flow, ProviderError>;

    /// Takes an answer that came whole although a stream was asked for. Ends it.
    ///
    /// # Errors
    /// When it is an error or makes no sense.
    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// The connection has ended without a formal end.
    ///
    /// # Errors
    /// `Broken` when the answer is not complete.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Whether the answer has said why it ended, so that only formalities are missing.
    fn settled(&self) -> bool;
}

/// Sends `body` and streams what the decoder makes of the answer, trying again as `pace` allows.
pub fn answer(
    endpoint: &Arc<Endpoint>,
    body: String,
    pace: &Pace,
    decoder: impl Fn() -> Box<dyn Decoder> + Send + 'static,
) -> Answer {
    let (endpoint, body, idle) = (Arc::clone(endpoint), Arc::<str>::from(body), pace.idle);
    with_retries(pace.clone(), move || attempt(Arc::clone(&endpoint), Arc::clone(&body), idle, decoder()))
}

fn attempt(endpoint: Arc<Endpoint>, body: Arc<str>, idle: Duration, mut decoder: Box<dyn Decoder>) -> Answer {
    let stalled = move || ProviderError::Stalled { seconds: idle.as_secs() };
    Box::pin(try_stream! {
        let mut response = timeout(idle, endpoint.post(&body)).await.map_err(|_| stalled())??;
        let mut form = Form::Unknown;
        let mut events = Vec::new();
        let mut out = Vec::new();
        let mut last_event = Instant::now();
        let mut flow = Flow::More;
        while flow == Flow::More {
            let patience = if decoder.settled() {
                idle.min(END_GRACE)
            } else {
                idle.min(idle.saturating_mul(KEEP_ALIVE_FACTOR).saturating_sub(last_event.elapsed()))
            };
            let chunk = match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break,
                Ok(Err(_)) | Err(_) if decoder.settled() => break,
                Ok(Err(error)) => Err(endpoint.fault(&error))?,
                Err(_) => Err(stalled())?,
            };
            form.push(&chunk, &mut events)?;
            if !events.is_empty() {
                last_event = Instant::now();
            }
            for event in events.drain(..) {
                flow = decoder.event(&event, &mut out)?;
                if flow == Flow::Done {
                    break;
                }
            }
            for event in out.drain(..) {
                yield event;
            }
        }
        if flow == Flow::Done {
            keep_connection(response);
        } else {
            match form {
                Form::Unknown => Err(ProviderError::Broken { message: "the answer was empty".to_owned() })?,
                Form::Whole(bytes) => decoder.whole(&whole(&bytes)?, &mut out)?,
                Form::Events(parser) => {
                    parser.finish(&mut events);
                    for event in &events {
                        // Without its blank line an event may be half of one; that is a break and not nonsense.
                        match decoder.event(event, &mut out) {
                            Err(ProviderError::Protocol { .. }) if decoder.settled() => {}
                            Err(ProviderError::Protocol { .. }) => Err(ProviderError::Broken {
                                message: "it ended in the middle of an event".to_owned(),
                            })?,
                            told => flow = told?,
                        }
                    }
                    if flow == Flow::More {
                        decoder.end(&mut out)?;
                    }
                }
            }
            for event in out.drain(..) {
                yield event;
            }
        }
    })
}

/// How the answer comes. Judged by its first character and not by `content-type`, which imitators get wrong both ways.
enum Form {
    Unknown,
    Events(SseParser),
    Whole(Vec<u8>),
}

impl Form {
    fn push(&mut self, chunk: &[u8], events: &mut Vec<SseEvent>) -> Result<(), ProviderError> {
        if matches!(self, Self::Unknown) {
            match chunk.trim_ascii_start().first() {
                None => return Ok(()),
                Some(b'{') => *self = Self::Whole(Vec::new()),
                Some(b'<') => {
                    let gist = fault::html_gist(&String::from_utf8_lossy(chunk));
                    return Err(ProviderError::Protocol { message: format!("it sent {gist}") });
                }
                Some(_) => *self = Self::Events(SseParser::default()),
            }
        }
        match self {
            Self::Events(parser) => parser.push(chunk, events),
            Self::Whole(bytes) if bytes.len() + chunk.len() > WHOLE_ANSWER_BYTES => {
                Err(ProviderError::Protocol { message: "the answer is larger than 64 MiB".to_owned() })
            }
            Self::Whole(bytes) => {
                bytes.extend_from_slice(chunk);
                Ok(())
            }
            Self::Unknown => Ok(()),
        }
    }
}

fn whole(bytes: &[u8]) -> Result<Value, ProviderError> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_eof() {
            return ProviderError::Broken { message: "the answer was cut off".to_owned() };
        }
        let start = text::one_line(&String::from_utf8_lossy(&bytes[..bytes.len().min(400)]), 100);
        ProviderError::Protocol { message: format!("it is no valid JSON ({error}): {start}") }
    })
}

/// Reads the rest of a finished answer (nothing but its formal end) in the background: only then can the connection
/// serve the next request.
fn keep_connection(mut response: Response) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
    });
}
