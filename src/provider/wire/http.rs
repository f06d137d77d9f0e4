//! One model server's address: the client that reaches it, its headers, and what went wrong on the way there.
//! Knows no dialect and never tries twice.
//!
//! The client is built at the first request, not at start. Loading the system's certificate store is its dear part
//! (milliseconds), so an `http://` address is served by a client with an empty store. Redirects are not followed: the key
//! must not travel to another host. Proxies come from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, except that a
//! loopback address is always reached directly; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's certificates.

use std::error::Error as StdError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};

use super::decompress::{Body, BodyError};
use super::error_mapping;
use crate::base::secret::Secret;
use crate::config::settings::ProviderSettings;
use crate::provider::api::ProviderError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How much of an error's body is read, and how long that may take.
const ERROR_BODY_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Where requests go. Built once per provider; connections are kept between requests.
#[derive(Debug)]
pub struct Endpoint {
    url: Url,
    /// The address as it is shown: without user name, password and query.
    shown: String,
    headers: HeaderMap,
    key: Option<Secret>,
    client: OnceLock<Client>,
    /// Whether there may be a connection that an earlier request has left open.
    kept: AtomicBool,
}

impl Endpoint {
    /// An address with the headers that every request to it carries. A header named twice takes its last value, so that
    /// the user's own headers, given last, win.
    ///
    /// # Errors
    /// `Setup` when the address or a header cannot be sent.
    pub fn new<'a>(
        url: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        key: Option<&Secret>,
    ) -> Result<Self, ProviderError> {
        let url = parse(url)?;
        let mut map = HeaderMap::new();
        map.insert("content-type", HeaderValue::from_static("application/json"));
        map.insert("accept-encoding", HeaderValue::from_static("identity"));
        for (name, value) in headers {
            let bad = || ProviderError::Setup {
                message: format!("the header '{name}' has a name or value that cannot be sent"),
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(Self {
            shown: shown(&url),
            url,
            headers: map,
            key: key.cloned(),
            client: OnceLock::new(),
            kept: AtomicBool::new(false),
        })
    }

    /// The key, for taking it out of messages.
    pub fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// Posts `body` and waits for the answer's head.
    ///
    /// # Errors
    /// Every way in which no answer begins, also a status that is not a success.
    pub async fn post(&self, body: &str) -> Result<Response, ProviderError> {
        let client = self.client()?;
        let post =
            || client.post(self.url.clone()).headers(self.headers.clone()).body(body.to_owned()).send();
        let response = match post().await {
            // A kept connection that the server closed meanwhile says nothing of the server: a new one is tried at once.
            Err(error) if self.kept.swap(false, Ordering::Relaxed) && hung_up(&error) => post().await,
            other => other,
        }
        .map_err(|error| self.fault(&error))?;
        self.kept.store(true, Ordering::Relaxed);
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = bounded_text(response, ERROR_BODY_BYTES, ERROR_BODY_TIMEOUT).await;
        Err(error_mapping::from_status(status, &headers, &body, &self.shown, self.key()))
    }

    /// What a failure of the transport means.
    pub fn fault(&self, error: &reqwest::Error) -> ProviderError {
        let message = error_mapping::without_key(&root_cause(error), self.key());
        let url = self.shown.clone();
        if is_tls(error) {
            ProviderError::Tls { url, message }
        } else if error.is_connect() {
            ProviderError::Connect { url, message }
        } else if causes(error).any(|cause| cause.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            ProviderError::Protocol { message: format!("it is no HTTP that can be read: {message}") }
        } else if error.is_builder() {
            ProviderError::Setup { message }
        } else {
            ProviderError::Broken { message }
        }
    }

    /// What a failure in the middle of an answer means.
    pub fn body_fault(&self, error: &BodyError) -> ProviderError {
        match error {
            BodyError::Transport(error) => self.fault(error),
            other => ProviderError::Protocol { message: other.to_string() },
        }
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(&self.url)?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// `text` as an address that can be used.
///
/// # Errors
/// `Setup`, saying what an address looks like.
pub fn parse(text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| ProviderError::Setup {
        message: format!(
            "'{text}' is no address; it must look like https://host/v1 or http://localhost:8080/v1"
        ),
    })
}

/// The configured key, unless it is empty. The service at `host` is known to want one, so that its absence is told
/// before anything is sent.
///
/// # Errors
/// `Setup`, naming the variable to set.
pub fn usable_key<'a>(
    settings: &'a ProviderSettings,
    host: &str,
    variable: &str,
) -> Result<Option<&'a Secret>, ProviderError> {
    let key = settings.api_key.as_ref().filter(|key| !key.expose().is_empty());
    let wanted = parse(&settings.base_url)?.host_str() == Some(host);
    let other = settings.headers.iter().any(|(name, _)| {
        name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("x-api-key")
    });
    if wanted && key.is_none() && !other {
        return Err(ProviderError::Setup {
            message: format!("{host} wants a key, and none is set; put it into {variable}"),
        });
    }
    Ok(key)
}

/// A client that can reach `url`.
///
/// # Errors
/// `Setup` when there are no certificates to check an `https://` server with.
pub fn build_client(url: &Url) -> Result<Client, ProviderError> {
    // An error means that another client came first: the same provider is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("mycode/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" && (is_loopback(url) || !proxy_is_secure()) {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| ProviderError::Setup { message: root_cause(&error) })
}

/// Whether `url` names this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn proxy_is_secure() -> bool {
    ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| value.starts_with("https://")))
}

fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// At most `limit` bytes of the body, as text; what had arrived when the time is over or the connection breaks.
pub async fn bounded_text(response: Response, limit: usize, within: Duration) -> String {
    let mut body = Body::new(response);
    let mut bytes = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = body.chunk().await {
            bytes.extend_from_slice(&chunk);
            if bytes.len() >= limit {
                bytes.truncate(limit);
                break;
            }
        }
    };
    let _ = tokio::time::timeout(within, read).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The innermost message of an error: "connection refused" and not "error sending request".
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
    }
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Whether the server closed the connection instead of answering.
fn hung_up(error: &reqwest::Error) -> bool {
    use std::io::ErrorKind;
    const KINDS: [ErrorKind; 3] =
        [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe];
    !error.is_connect()
        && causes(error).any(|cause| {
            cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message)
                || cause.downcast_ref::<std::io::Error>().is_some_and(|error| KINDS.contains(&error.kind()))
        })
}

/// The causes of an error, outermost first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| {
        // `source` of an `io::Error` skips the error that it wraps, so that is asked for first.
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn StdError + 'static)).or_else(|| cause.source())
    })
}

fn is_tls(error: &reqwest::Error) -> bool {
    causes(error).any(<dyn StdError>::is::<rustls::Error>)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_shown_without_secrets() {
        assert!(Endpoint::new("localhost:8080", [], None).is_err());
        assert!(Endpoint::new("ftp://host", [], None).is_err());
        let endpoint = Endpoint::new("https://user:pass@host:444/v1/x?key=1", [], None).unwrap();
        assert_eq!(endpoint.shown, "https://host:444/v1/x");
        assert!(Endpoint::new("http://host", [("x-key", "a\nb")], None).is_err());
    }

    #[test]
    fn loopback_is_recognized() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://127.0.0.9", true),
            ("http://[::1]:1", true),
            ("http://a", false),
        ] {
            assert_eq!(is_loopback(&parse(url).unwrap()), expected, "{url}");
        }
    }
}
