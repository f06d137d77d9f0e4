//! One request and its streamed answer: sends, reads with an idle limit, and hands events to the dialect's decoder.

use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use serde_json::Value;
use tokio::time::timeout;

use super::decompress::Body;
use super::framing::{FrameEnd, Framing};
use super::http::Endpoint;
use super::retry::{RetryPolicy, with_retries};
use super::sse::SseEvent;
use super::timeouts::{TimedOut, Timeouts};
use crate::model::stream::StreamEvent;
use crate::provider::api::{ProviderError, ReplyStream};

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
    pace: &RetryPolicy,
    decoder: impl Fn() -> Box<dyn Decoder> + Send + 'static,
) -> ReplyStream {
    let (endpoint, body, waits) = (Arc::clone(endpoint), Arc::<str>::from(body), pace.clone());
    with_retries(pace.clone(), move || {
        attempt(Arc::clone(&endpoint), Arc::clone(&body), Timeouts::new(&waits), decoder())
    })
}

fn attempt(
    endpoint: Arc<Endpoint>,
    body: Arc<str>,
    mut patience: Timeouts,
    mut decoder: Box<dyn Decoder>,
) -> ReplyStream {
    Box::pin(try_stream! {
        let mut begins = Box::pin(endpoint.post(&body));
        let response = loop {
            match patience.wait(&mut begins).await {
                TimedOut::Came(response) => break response?,
                TimedOut::Word(word) => yield word,
                TimedOut::Enough => {}
                TimedOut::Over(error) => Err(error)?,
            }
        };
        patience.heard();
        let mut body = Body::new(response);
        let mut form = Framing::Unknown;
        let mut any = false;
        let mut events = Vec::new();
        let mut out = Vec::new();
        let mut flow = Flow::More;
        'reading: while flow == Flow::More {
            let mut next = Box::pin(body.chunk());
            let chunk = loop {
                match patience.wait(&mut next).await {
                    TimedOut::Came(Ok(Some(chunk))) => break chunk,
                    TimedOut::Came(Ok(None)) | TimedOut::Enough => break 'reading,
                    TimedOut::Came(Err(_)) if decoder.settled() => break 'reading,
                    TimedOut::Came(Err(error)) => Err(endpoint.body_fault(&error))?,
                    TimedOut::Word(word) => yield word,
                    TimedOut::Over(error) => Err(error)?,
                }
            };
            drop(next);
            patience.heard();
            form.push(&chunk, &mut events)?;
            any |= !events.is_empty();
            for event in events.drain(..) {
                flow = decoder.event(&event, &mut out)?;
                if flow == Flow::Done {
                    break;
                }
            }
            if !out.is_empty() || matches!(form, Framing::Whole(_)) {
                patience.moved();
            }
            if decoder.settled() {
                patience.settle();
            }
            for event in out.drain(..) {
                yield event;
            }
        }
        if flow == Flow::Done {
            keep_connection(body);
        } else {
            match form.end(any)? {
                FrameEnd::Whole(answer) => decoder.whole(&answer, &mut out)?,
                FrameEnd::Events(last) => {
                    for event in &last {
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

/// Reads the rest of a finished answer (nothing but its formal end) in the background: only then can the connection
/// serve the next request.
fn keep_connection(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = body.chunk().await {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
    });
}
