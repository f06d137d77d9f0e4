//! Fetches one page. Addresses are checked when connecting, so that a name can't change its meaning in between. A
//! proxy resolves names itself; they are also checked here if possible. Never sends keys, cookies or a referrer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use thiserror::Error;
use tokio::net::lookup_host;

use super::address;
use base::model::envelope::ErrorCode;
use base::model::provider::ProviderError;
use provider::wire::http::{self, Body, BodyError};

pub const MAX_BYTES: usize = 5 * 1024 * 1024;
const MAX_REDIRECTS: usize = 10;
/// Markdown first: many documentation sites serve it on request.
const WANTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, \
                      application/json;q=0.8, image/png;q=0.5, */*;q=0.4";

#[derive(Debug)]
pub struct Fetched {
    pub url: Url,
    pub status: u16,
    pub content_type: String,
    pub bytes: Vec<u8>,
    pub cut: bool,
}

#[derive(Debug, Error)]
#[error("{message}")]
pub struct WebError {
    pub code: ErrorCode,
    pub message: String,
}

pub enum Reply {
    Page(Fetched),
    Elsewhere(Url),
}

#[derive(Debug)]
pub struct WebClient {
    guarded: Client,
    /// For the user's own hosts and for proxies.
    plain: Client,
    proxies: Matcher,
    private: Arc<[String]>,
}

impl WebClient {
    /// A client that may also reach `private` hosts. Loads certificates, which may take milliseconds.
    pub fn new(private: Arc<[String]>) -> Result<Self, WebError> {
        let unusable = |error: ProviderError| failed(error.to_string());
        let guarded = || http::client_builder().no_proxy().dns_resolver(Arc::new(PublicOnly));
        Ok(Self {
            guarded: http::secure_client(guarded).map_err(unusable)?,
            plain: http::secure_client(http::client_builder).map_err(unusable)?,
            proxies: Matcher::from_system(),
            private,
        })
    }

    /// Fetches `url`, which [`address::parse`] must have accepted.
    pub async fn get(&self, mut url: Url) -> Result<Reply, WebError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url).await?;
            let Some(target) = redirect(&response) else {
                return Ok(Reply::Page(receive(url, response).await?));
            };
            let target = url
                .join(&target)
                .map_err(|error| failed(format!("{url} redirects to an invalid address: {error}")))?;
            let target = address::accept(target, &self.private)
                .map_err(|why| denied(format!("{url} redirects: {why}")))?;
            if !address::same_place(&url, &target) {
                return Ok(Reply::Elsewhere(target));
            }
            url = target;
        }
        Err(failed(format!("{url} redirects more than {MAX_REDIRECTS} times")))
    }

    async fn send(&self, url: &Url) -> Result<Response, WebError> {
        let named = address::is_named(url, &self.private);
        let proxied = url.as_str().parse::<Uri>().is_ok_and(|uri| self.proxies.intercept(&uri).is_some());
        if proxied && !named {
            check_names(url).await?;
        }
        let client = if named || proxied { &self.plain } else { &self.guarded };
        let asked = client.get(url.clone()).header(ACCEPT, WANTED).header(ACCEPT_ENCODING, "gzip");
        asked.send().await.map_err(|error| {
            let refused = http::causes(&error).find_map(|cause| cause.downcast_ref::<NotPublic>());
            match refused {
                Some(refused) => denied(refused.to_string()),
                None => {
                    failed(format!("no answer from {}: {}", address::host(url), http::root_cause(&error)))
                }
            }
        })
    }
}

fn redirect(response: &Response) -> Option<String> {
    let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let target = response.headers().get(LOCATION).filter(|_| moved)?;
    Some(String::from_utf8_lossy(target.as_bytes()).into_owned())
}

/// Stops at the limit, because a small page may expand to any size.
async fn receive(url: Url, response: Response) -> Result<Fetched, WebError> {
    let status = response.status().as_u16();
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase());
    let mut body = Body::new(response);
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_BYTES {
        match body.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(BodyError::Transport(error)) => {
                return Err(failed(format!("{url} stopped in the middle: {}", http::root_cause(&error))));
            }
            Err(error) => return Err(failed(format!("can't read {url}: {error}"))),
        }
    }
    let cut = bytes.len() > MAX_BYTES;
    bytes.truncate(MAX_BYTES);
    Ok(Fetched { url, status, content_type: content_type.unwrap_or_default(), bytes, cut })
}

fn failed(message: String) -> WebError {
    WebError { code: ErrorCode::ExecutionError, message }
}

fn denied(message: String) -> WebError {
    WebError { code: ErrorCode::AccessDenied, message }
}

#[derive(Debug, Error)]
#[error("{}", address::private_host(.host, *.ip))]
struct NotPublic {
    host: String,
    ip: IpAddr,
}

fn all_public(host: &str, found: &[SocketAddr]) -> Result<(), NotPublic> {
    match found.iter().map(SocketAddr::ip).find(|ip| !address::is_public(*ip)) {
        Some(ip) => Err(NotPublic { host: host.to_owned(), ip }),
        None => Ok(()),
    }
}

/// Names that only the proxy can resolve are left to it.
async fn check_names(url: &Url) -> Result<(), WebError> {
    let host = url.host_str().unwrap_or_default();
    let Ok(found) = lookup_host((host, 0)).await else { return Ok(()) };
    all_public(host, &found.collect::<Vec<_>>()).map_err(|refused| denied(refused.to_string()))
}

/// A resolver that rejects private addresses; the connection uses exactly the addresses it returns.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            all_public(name.as_str(), &found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
