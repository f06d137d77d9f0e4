//! HTTP clients for model servers, their replies and transport errors. A client is built for the first request, because loading
//! the system's certificates takes milliseconds; `http://` needs none. Redirects aren't followed, because the key must not
//! reach another host. Proxies come from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, but loopback addresses are
//! always reached directly.

use std::error::Error as StdError;
use std::io::{self, ErrorKind, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use flate2::write::{GzDecoder, ZlibDecoder};
use reqwest::header::CONTENT_ENCODING;
use reqwest::{Certificate, Client, ClientBuilder, Response, Url};
use serde_json::Value;
use thiserror::Error;

use base::file;
use base::model::provider::ProviderError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const OWN_CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
/// For single questions outside a conversation.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_BYTES: usize = 256 * 1024;
const MAX_CERTIFICATE_BYTES: u64 = 4 * 1024 * 1024;

pub fn parse(text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        ProviderError::Setup(format!(
            "'{text}' is not a valid address; use https://host/v1 or http://localhost:8080/v1"
        ))
    })
}

pub fn build_client(url: &Url) -> Result<Client, ProviderError> {
    let configured = || if is_loopback(url) { client_builder().no_proxy() } else { client_builder() };
    if url.scheme() == "http" && (is_loopback(url) || !proxy_is_secure()) {
        let plain = configured().tls_certs_only([]).build();
        return plain.map_err(|error| ProviderError::Setup(root_cause(&error)));
    }
    secure_client(configured)
}

/// Trusts the system's certificates or `SSL_CERT_FILE`/`_DIR`, plus `NODE_EXTRA_CA_CERTS`; without any, Mozilla's.
pub fn secure_client(configured: impl Fn() -> ClientBuilder) -> Result<Client, ProviderError> {
    let setting = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || OWN_CERTIFICATES.iter().filter_map(|name| Some((name, setting(name)?)));
    if let Some((name, path)) = own().find(|(_, path)| !path.exists()) {
        let message =
            format!("{name} names {}, which does not exist; correct or unset the variable", path.display());
        return Err(ProviderError::Setup(message));
    }
    // Like Node, ignore certificates that can't be read.
    let extra = setting("NODE_EXTRA_CA_CERTS").and_then(|path| file::read(&path, MAX_CERTIFICATE_BYTES).ok());
    let extra = extra.and_then(|(pem, _)| Certificate::from_pem_bundle(&pem).ok()).unwrap_or_default();
    let build =
        |more: Vec<Certificate>| configured().tls_certs_merge(extra.iter().cloned().chain(more)).build();
    build(Vec::new())
        .or_else(|error| if own().next().is_some() { Err(error) } else { build(bundled_certificates()) })
        .map_err(|error| ProviderError::Setup(format!("https can't be used: {}", root_cause(&error))))
}

fn bundled_certificates() -> Vec<Certificate> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    roots.filter_map(|root| Certificate::from_der(root).ok()).collect()
}

pub fn client_builder() -> ClientBuilder {
    // An error means that another client already set the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("mycode/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none())
}

pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn proxy_is_secure() -> bool {
    ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| value.starts_with("https://")))
}

/// This machine or the local network: a private address, or a name known only in a local network.
pub fn is_near(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_private() || address.is_loopback() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => {
            is_loopback(url)
                || !host.contains('.')
                || [".local", ".lan", ".internal", ".home.arpa"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// For messages and records; without user name, password and query.
pub fn display_url(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// A GET, or a POST of `form`: the status, and the answer if it is JSON.
pub async fn ask(url: &str, form: Option<&[(&str, &str)]>) -> Result<(u16, Value), String> {
    let said = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    let parsed = parse(url).map_err(|error| error.to_string())?;
    let client = build_client(&parsed).map_err(|error| said(&error))?;
    let request = match form {
        None => client.get(parsed),
        Some(form) => {
            let body = Url::parse_with_params("http://form/", form).map_err(|error| said(&error))?;
            let body = body.query().unwrap_or_default().to_owned();
            client.post(parsed).header("content-type", "application/x-www-form-urlencoded").body(body)
        }
    };
    let sent = tokio::time::timeout(ANSWER_TIMEOUT, request.send()).await;
    let reply = sent.map_err(|_| said(&"no answer in time"))?.map_err(|error| said(&root_cause(&error)))?;
    let status = reply.status().as_u16();
    let text = bounded_text(reply, ANSWER_BYTES, ANSWER_TIMEOUT).await;
    Ok((status, serde_json::from_str(&text).unwrap_or_default()))
}

/// Returns what has arrived if time runs out or the connection breaks.
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

/// "connection refused" instead of "error sending request".
pub fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
    }
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

pub fn closed_by_server(error: &reqwest::Error) -> bool {
    const KINDS: [ErrorKind; 3] =
        [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe];
    !error.is_connect()
        && causes(error).any(|cause| {
            cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message)
                || cause.downcast_ref::<io::Error>().is_some_and(|error| KINDS.contains(&error.kind()))
        })
}

pub fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| {
        // `source` of an `io::Error` skips the error that it wraps, so get that first.
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn StdError + 'static)).or_else(|| cause.source())
    })
}

#[derive(Debug, Error)]
pub enum BodyError {
    #[error(transparent)]
    Transport(#[from] reqwest::Error),
    #[error("its compressed data is damaged: {0}")]
    Damaged(#[from] io::Error),
    #[error("it uses the unsupported compression '{0}'")]
    UnknownCompression(String),
}

enum Compression {
    Plain,
    /// Named by the header, but some servers then send plain text, so the first bytes decide.
    Announced(String),
    Gzip(GzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

/// Read in chunks. Some servers compress although we don't ask; only gzip and deflate are accepted.
pub struct Body {
    response: Response,
    compression: Compression,
}

impl Body {
    pub fn new(response: Response) -> Self {
        let named = response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let compression = match named.map(|name| name.trim().to_ascii_lowercase()) {
            Some(name) if !name.is_empty() && name != "identity" => Compression::Announced(name),
            _ => Compression::Plain,
        };
        Self { response, compression }
    }

    /// `None` at the end; may be empty. Cancel-safe.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, BodyError> {
        let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
        if let Compression::Announced(name) = &self.compression {
            self.compression = match (name.as_str(), &chunk[..]) {
                ("gzip" | "x-gzip", [0x1f, 0x8b, ..] | [0x1f]) => {
                    Compression::Gzip(GzDecoder::new(Vec::new()))
                }
                ("deflate", [0x78, ..]) => Compression::Deflate(ZlibDecoder::new(Vec::new())),
                (_, [b'd' | b'e' | b':' | b'{' | b'<' | b'\r' | b'\n', ..]) => Compression::Plain,
                (_, []) => return Ok(Some(Vec::new())),
                _ => return Err(BodyError::UnknownCompression(name.clone())),
            };
        }
        Ok(Some(match &mut self.compression {
            Compression::Plain | Compression::Announced(_) => chunk.to_vec(),
            Compression::Gzip(decoder) => {
                decoder.write_all(&chunk)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Compression::Deflate(decoder) => {
                decoder.write_all(&chunk)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_roots_suffice() {
        let roots = bundled_certificates();
        assert!(roots.len() > 100);
        client_builder().tls_certs_only(roots).build().unwrap();
    }

    #[test]
    fn near_addresses() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://192.168.1.7:8000/v1", true),
            ("http://[fd00::1]:1", true),
            ("http://gpu-box:8000", true),
            ("http://gpu.local", true),
            ("http://8.8.8.8", false),
            ("https://openrouter.ai/api/v1", false),
        ] {
            assert_eq!(is_near(&parse(url).unwrap()), expected, "{url}");
        }
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
