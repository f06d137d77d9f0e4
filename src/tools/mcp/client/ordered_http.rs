//! Delays requests until the stream for the server's own messages is open. The protocol crate (rmcp 3.11) opens both at
//! once, and servers drop questions that they ask before that, so the call would wait forever.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, JsonRpcRequest, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio::sync::watch;
use tokio::time::timeout;

/// Some servers open the stream only when they have something to send.
const PATIENCE: Duration = Duration::from_secs(1);

type Headers = HashMap<HeaderName, HeaderValue>;
type Posted<E> = Result<StreamableHttpPostResponse, StreamableHttpError<E>>;
type Stream<E> = Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<E>>;

#[derive(Clone)]
pub struct OrderedHttp<C> {
    inner: C,
    is_open: Arc<watch::Sender<bool>>,
}

impl<C> OrderedHttp<C> {
    pub fn new(inner: C) -> Self {
        Self { inner, is_open: Arc::new(watch::Sender::new(false)) }
    }
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for OrderedHttp<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Posted<C::Error> {
        self.post_message_with_response_limits(uri, message, session, token, headers, Default::default())
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Posted<C::Error> {
        // Without a session there is no such stream.
        if session.is_some() && matches!(message, JsonRpcMessage::Request(_)) {
            let _ = timeout(PATIENCE, self.is_open.subscribe().wait_for(|is_open| *is_open)).await;
            self.is_open.send_replace(true);
        }
        let call = match &message {
            JsonRpcMessage::Request(JsonRpcRequest {
                id,
                request: ClientRequest::CallToolRequest(_),
                ..
            }) => Some(id.clone()),
            _ => None,
        };
        let posted =
            self.inner.post_message_with_response_limits(uri, message, session, token, headers, limits).await;
        match (posted, call) {
            // As an answer, because an error would end the session.
            (Err(StreamableHttpError::HttpStatus(failed)), Some(id)) => {
                let wait = failed.retry_after.as_ref().map(|wait| format!("; Retry-After: {wait}"));
                let why = format!("{failed} for this call{}", wait.unwrap_or_default());
                let answer = ServerJsonRpcMessage::error(ErrorData::internal_error(why, None), Some(id));
                Ok(StreamableHttpPostResponse::Json(answer, None))
            }
            (posted, _) => posted,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<C::Error>> {
        self.inner.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Stream<C::Error> {
        let most = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, most).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Stream<C::Error> {
        let opened = self
            .inner
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, most)
            .await;
        self.is_open.send_replace(true);
        opened
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use parking_lot::Mutex;
    use rmcp::transport::streamable_http_client::HttpStatusError;
    use serde_json::json;
    use tokio::sync::Notify;

    use super::*;

    #[derive(Clone, Default)]
    struct Server {
        seen: Arc<Mutex<Vec<&'static str>>>,
        answers: Arc<Notify>,
    }

    impl StreamableHttpClient for Server {
        type Error = std::io::Error;

        async fn post_message(
            &self,
            _: Arc<str>,
            message: ClientJsonRpcMessage,
            _: Option<Arc<str>>,
            _: Option<String>,
            _: Headers,
        ) -> Posted<Self::Error> {
            if json!(message)["method"] == "tools/call" {
                return Err(HttpStatusError::new(429, Some("30".to_owned())).into());
            }
            self.seen.lock().push("request");
            Ok(StreamableHttpPostResponse::Accepted)
        }

        async fn delete_session(
            &self,
            _: Arc<str>,
            _: Arc<str>,
            _: Option<String>,
            _: Headers,
        ) -> Result<(), StreamableHttpError<Self::Error>> {
            Ok(())
        }

        async fn get_stream(
            &self,
            _: Arc<str>,
            _: Option<Arc<str>>,
            _: Option<String>,
            _: Option<String>,
            _: Headers,
        ) -> Stream<Self::Error> {
            self.answers.notified().await;
            self.seen.lock().push("stream");
            Err(StreamableHttpError::ServerDoesNotSupportSse)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_stream_comes_first_and_is_not_waited_for_forever() {
        let server = Server::default();
        let http = OrderedHttp::new(server.clone());
        let request =
            || serde_json::from_value(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).unwrap();
        let post = || http.post_message("u".into(), request(), Some("s".into()), None, Headers::new());
        let stream = http.get_stream("u".into(), Some("s".into()), None, None, Headers::new());
        let answer = async {
            tokio::task::yield_now().await;
            server.answers.notify_one();
        };
        let (posted, _, ()) = tokio::join!(post(), stream, answer);
        posted.unwrap();
        assert_eq!(*server.seen.lock(), ["stream", "request"]);

        let http = OrderedHttp::new(server.clone());
        http.post_message("u".into(), request(), Some("s".into()), None, Headers::new()).await.unwrap();
        assert_eq!(server.seen.lock().len(), 3);
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "f"}});
        let call = serde_json::from_value(call).unwrap();
        let told = http.post_message("u".into(), call, Some("s".into()), None, Headers::new()).await;
        let told = format!("{told:?}");
        assert!(told.contains("HTTP 429 for this call; Retry-After: 30"), "{told}");
    }
}
