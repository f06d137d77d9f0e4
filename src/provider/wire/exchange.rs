//! Sends a request, reads its reply within limits, and passes events to the decoder, for all dialects.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_stream::{stream, try_stream};
use futures_util::StreamExt;
use tokio::time::timeout;

use super::decoder::{Decoded, Decoder, Events, ReplyState};
use super::endpoint::Endpoint;
use super::http::{self, Body};
use super::retry::{RetryPolicy, with_retries};
use super::sse::{FrameEnd, Framing};
use super::timeouts::{Timeouts, Waited};
use crate::call_ids::CallIds;
use crate::learned::lessons::{self, FieldRule, Instead, Lessons, Sight};
use crate::text_tools;
use base::config::settings::ProviderSettings;
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::model::stream::StreamEvent;
use base::text;

pub trait Dialect: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// The endpoint, and what its address tells about the server.
    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError>;

    fn body(&self, request: &Request) -> String;

    const REQUIRED: &'static [&'static str] = &[];
    const STOP: Option<&'static str> = None;

    /// Learns a request form from an error; returns whether the same request now looks different.
    fn learn(&self, _model: &Arc<str>, _error: &ProviderError) -> bool {
        false
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder>;
}

pub struct HttpProvider<D> {
    endpoint: Arc<Endpoint>,
    retry: RetryPolicy,
    dialect: Arc<D>,
    sight: Arc<Sight>,
    lessons: Arc<Lessons>,
    instead: Arc<Instead>,
}

/// How often a refused request is sent in another form.
const MAX_FORMS: u32 = 4;

impl<D: Dialect> HttpProvider<D> {
    pub fn with_retry(settings: &ProviderSettings, retry: RetryPolicy) -> Result<Self, ProviderError> {
        let (endpoint, dialect) = D::connect(settings)?;
        let server = http::display_url(&http::parse(&settings.base_url)?);
        Ok(Self {
            endpoint: Arc::new(endpoint),
            retry,
            dialect: Arc::new(dialect),
            sight: Arc::default(),
            lessons: Arc::new(Lessons::new(settings, server)),
            instead: Arc::new(Instead::new(settings)),
        })
    }
}

impl<D: Dialect> Provider for HttpProvider<D> {
    fn stream(&self, request: &Request) -> ReplyStream {
        let (endpoint, retry, ids) = (Arc::clone(&self.endpoint), self.retry.clone(), CallIds::of(request));
        let start = move |body: String| {
            let (endpoint, retry, ids, body) =
                (Arc::clone(&endpoint), retry.clone(), ids.clone(), Arc::<str>::from(body));
            with_retries(retry.clone(), move || {
                let decoder = D::decoder(ReplyState::new(ids.clone(), endpoint.key()));
                attempt(Arc::clone(&endpoint), Arc::clone(&body), Timeouts::new(&retry), decoder)
            })
        };
        let (dialect, sight) = (Arc::clone(&self.dialect), Arc::clone(&self.sight));
        let (lessons, instead, mut request) =
            (Arc::clone(&self.lessons), Arc::clone(&self.instead), request.clone());
        Box::pin(stream! {
            instead.of(&mut request.params.model);
            let mut rules = lessons.of(&request.params.model).await;
            let mut known = rules.len();
            let body = |request: &Request, rules: &[&FieldRule]| {
                let request = sight.of(request);
                let body = match lessons::tools_as_text(rules) {
                    true => dialect.body(&text_tools::written_out(&request)),
                    false => dialect.body(&request),
                };
                lessons::under(rules, body, D::STOP)
            };
            // Tell the user what the model isn't shown.
            let again = |error: &ProviderError, then: &str| {
                let reason = format!("{}{then}", text::one_line(&error.to_string(), 200));
                StreamEvent::Restarted { attempt: 2, of: 2, wait: Duration::ZERO, reason }
            };
            let mut reply = start(body(&request, &rules));
            let (mut forms, mut kept) = (0, false);
            while let Some(event) = reply.next().await {
                match event {
                    Err(error) if forms < MAX_FORMS && dialect.learn(&request.params.model, &error) => {
                        forms += 1;
                        reply = start(body(&request, &rules));
                    }
                    Err(error) if instead.learn(&mut request.params.model, &error) => {
                        yield Ok(again(&error, &format!("; using {} instead", request.params.model)));
                        rules = lessons.of(&request.params.model).await;
                        known = rules.len();
                        reply = start(body(&request, &rules));
                    }
                    Err(error) if sight.learn(&request, &error) => {
                        yield Ok(again(&error, ""));
                        reply = start(body(&request, &rules));
                    }
                    Err(error @ ProviderError::ToolsRefused(_)) if !lessons::tools_as_text(&rules) => {
                        rules.push(&lessons::TOOLS);
                        yield Ok(again(&error, "; describing the tools in the prompt instead"));
                        reply = start(body(&request, &rules));
                    }
                    Err(error) if forms < MAX_FORMS => {
                        match FieldRule::for_refusal(&error, &body(&request, &rules), D::REQUIRED) {
                            Some(rule) => {
                                forms += 1;
                                rules.push(rule);
                                if rule.path.contains("effort") {
                                    yield Ok(again(&error, &format!("; not sent: {}", rule.label())));
                                }
                                reply = start(body(&request, &rules));
                            }
                            None => yield Err(error),
                        }
                    }
                    event => {
                        // Store only what helped.
                        if !kept && rules.len() > known && event.as_ref().is_ok_and(StreamEvent::is_answer) {
                            kept = true;
                            lessons.keep(&request.params.model, &rules).await;
                        }
                        yield event;
                    }
                }
            }
        })
    }

    fn name(&self) -> &'static str {
        D::NAME
    }
}

fn attempt(
    endpoint: Arc<Endpoint>,
    body: Arc<str>,
    mut timeouts: Timeouts,
    mut decoder: Box<dyn Decoder>,
) -> ReplyStream {
    Box::pin(try_stream! {
        let mut sent = Box::pin(endpoint.post(&body));
        let response = loop {
            match timeouts.wait(&mut sent).await {
                Waited::Ready(response) => break response?,
                Waited::Silent(event) => yield event,
                Waited::Settled => {}
                Waited::Failed(error) => Err(error)?,
            }
        };
        timeouts.received();
        let mut body = Body::new(response);
        let mut framing = Framing::Unknown;
        let mut any = false;
        let mut events = Vec::new();
        let mut out = Vec::new();
        let mut flow = ControlFlow::Continue(());
        'reading: while flow.is_continue() {
            let mut next = Box::pin(body.chunk());
            let chunk = loop {
                match timeouts.wait(&mut next).await {
                    Waited::Ready(Ok(Some(chunk))) => break chunk,
                    Waited::Ready(Ok(None)) | Waited::Settled => break 'reading,
                    Waited::Ready(Err(_)) if decoder.state().is_settled() => break 'reading,
                    Waited::Ready(Err(error)) => Err(endpoint.body_error(&error))?,
                    Waited::Silent(event) => yield event,
                    Waited::Failed(error) => Err(error)?,
                }
            };
            drop(next);
            timeouts.received();
            framing.push(&chunk, &mut events)?;
            any |= !events.is_empty();
            for event in events.drain(..) {
                flow = decoder.event(&event, &mut out)?;
                if flow.is_break() {
                    break;
                }
            }
            if !out.is_empty() || matches!(framing, Framing::Whole(_)) {
                timeouts.progressed();
            }
            if decoder.state().is_settled() {
                timeouts.settle();
            }
            for event in out.drain(..) {
                yield event;
            }
        }
        if flow.is_break() {
            drain(body);
        } else {
            finish(framing.end(any)?, &mut *decoder, &mut out)?;
            for event in out.drain(..) {
                yield event;
            }
        }
    })
}

fn finish(end: FrameEnd, decoder: &mut dyn Decoder, out: &mut Events) -> Decoded {
    match end {
        FrameEnd::Whole(reply) => {
            decoder.whole(&reply, out)?;
            decoder.close(out);
            Ok(())
        }
        FrameEnd::Events(last) => {
            for event in &last {
                // Without its blank line an event may be incomplete, so the reply broke off rather than being invalid.
                match decoder.event(event, out) {
                    Err(ProviderError::Protocol(_)) if decoder.state().is_settled() => {}
                    Err(ProviderError::Protocol(_)) => {
                        return Err(ProviderError::Broken("it ended in the middle of an event".to_owned()));
                    }
                    flow => {
                        if flow?.is_break() {
                            return Ok(());
                        }
                    }
                }
            }
            decoder.end(out)
        }
    }
}

/// Reads the formal end of a reply in the background, so that the connection can be reused.
fn drain(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = body.chunk().await {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
    });
}
