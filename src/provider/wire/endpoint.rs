//! A model server's address, headers and key.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};

use super::address::{self, Host};
use super::http::{self, BodyError, bounded_text, build_client, causes, display_url, parse};
use super::{error_mapping, key_command};
use base::config::provider::vendors::Vendor;
use base::config::settings::{KeySource, ProviderSettings};
use base::model::provider::ProviderError;
use base::secret::Secret;

const ERROR_BODY_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

pub type KeyHeader = fn(&Secret) -> (&'static str, String);

/// Built once per provider; keeps connections between requests.
#[derive(Debug)]
pub struct Endpoint {
    url: Url,
    /// For messages; without user name, password and query.
    display_url: String,
    headers: HeaderMap,
    key: Option<Secret>,
    source: Option<(KeySource, KeyHeader)>,
    client: OnceLock<Client>,
    /// An earlier request may have left a connection open.
    may_reuse: AtomicBool,
}

impl Endpoint {
    /// The last value of a header wins, so the user's `own` headers override others.
    pub fn new(
        url: &str,
        headers: impl IntoIterator<Item = (&'static str, String)>,
        own: &[(String, String)],
        key: Option<&Secret>,
    ) -> Result<Self, ProviderError> {
        let url = parse(url)?;
        let mut map = HeaderMap::new();
        map.insert("content-type", HeaderValue::from_static("application/json"));
        map.insert("accept-encoding", HeaderValue::from_static("identity"));
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        for (name, value) in headers.chain(own.iter().cloned()) {
            let bad = || ProviderError::Setup(format!("the header '{name}' has an invalid name or value"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(Self {
            display_url: display_url(&url),
            url,
            headers: map,
            key: key.cloned(),
            source: None,
            client: OnceLock::new(),
            may_reuse: AtomicBool::new(false),
        })
    }

    /// Uses the settings' key source, if they have one.
    #[must_use]
    pub fn with_source(mut self, settings: &ProviderSettings, header: KeyHeader) -> Self {
        self.source = settings.key_source.clone().map(|source| (source, header));
        self
    }

    pub fn key(&self) -> Option<Secret> {
        self.key.clone().or_else(|| key_command::known(&self.source.as_ref()?.0))
    }

    pub async fn post(&self, body: &str) -> Result<Response, ProviderError> {
        let Some((source, header)) = &self.source else { return self.post_with(body, &self.headers).await };
        let mut refused = None;
        loop {
            let token = key_command::token(source, refused.as_ref()).await?;
            let mut headers = self.headers.clone();
            let (name, value) = header(&token);
            let value = HeaderValue::from_str(&value)
                .map_err(|_| ProviderError::Setup(format!("the key of {source:?} can't be in a header")))?;
            headers.insert(name, value);
            match self.post_with(body, &headers).await {
                Err(ProviderError::Auth { status: 401, .. }) if refused.is_none() => refused = Some(token),
                done => return done,
            }
        }
    }

    pub async fn get(&self) -> Result<Response, ProviderError> {
        let get = self.client()?.get(self.url.clone()).headers(self.headers.clone());
        self.check(get.send().await.map_err(|error| self.transport_error(&error))?).await
    }

    async fn post_with(&self, body: &str, headers: &HeaderMap) -> Result<Response, ProviderError> {
        let client = self.client()?;
        let post = || client.post(self.url.clone()).headers(headers.clone()).body(body.to_owned()).send();
        let response = match post().await {
            // A kept connection that the server has closed means nothing, so try a new one at once.
            Err(error) if self.may_reuse.swap(false, Ordering::Relaxed) && http::closed_by_server(&error) => {
                post().await
            }
            other => other,
        }
        .map_err(|error| self.transport_error(&error))?;
        self.may_reuse.store(true, Ordering::Relaxed);
        self.check(response).await
    }

    async fn check(&self, response: Response) -> Result<Response, ProviderError> {
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = bounded_text(response, ERROR_BODY_BYTES, ERROR_BODY_TIMEOUT).await;
        Err(error_mapping::from_status(status, &headers, &body, &self.display_url, self.key().as_ref()))
    }

    pub fn transport_error(&self, error: &reqwest::Error) -> ProviderError {
        let message = error_mapping::without_key(&http::root_cause(error), self.key().as_ref());
        let url = self.display_url.clone();
        if causes(error).any(<dyn std::error::Error>::is::<rustls::Error>) {
            ProviderError::Tls { url, message }
        } else if error.is_connect() {
            ProviderError::Connect { url, message }
        } else if causes(error).any(|cause| cause.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            ProviderError::Protocol(format!("malformed HTTP: {message}"))
        } else if error.is_builder() {
            ProviderError::Setup(message)
        } else {
            ProviderError::Broken(message)
        }
    }

    pub fn body_error(&self, error: &BodyError) -> ProviderError {
        match error {
            BodyError::Transport(error) => self.transport_error(error),
            other => ProviderError::Protocol(other.to_string()),
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

/// The key, unless empty. The service at `host` needs one, so a missing key is reported before sending.
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
    if wanted && key.is_none() && settings.key_source.is_none() && !other {
        return Err(ProviderError::Setup(format!("{host} needs an API key; set {variable}")));
    }
    Ok(key)
}

pub fn address(settings: &ProviderSettings) -> Result<Url, ProviderError> {
    parse(&settings.base_url)
}

/// The endpoint for `path` (`address::CHAT` or `RESPONSES`). Azure expects the key in a different header.
pub fn openai_endpoint(settings: &ProviderSettings, path: &str) -> Result<(Endpoint, Host), ProviderError> {
    let url = address::endpoint(parse(&settings.base_url)?, path);
    let host = match &settings.key_source {
        Some(KeySource::Account(_)) => Host::Plan,
        _ => Host::of(&url),
    };
    let key = usable_key(settings, "api.openai.com", "OPENAI_API_KEY")?;
    let form: KeyHeader = if host == Host::Azure { azure_header } else { bearer_header };
    // A session stays on the server that has its prompt cached.
    let routed = cache_key(settings).filter(|name| name.starts_with("x-"));
    let route = routed.map(|name| (name, format!("{:032x}", fastrand::u128(..))));
    let headers = key.map(form).into_iter().chain(route);
    let endpoint = Endpoint::new(url.as_str(), headers, &settings.headers, key)?;
    Ok((endpoint.with_source(settings, form), host))
}

/// The field or header that names a session, so that its prompt is found in the cache.
pub fn cache_key(settings: &ProviderSettings) -> Option<&'static str> {
    Vendor::at(&settings.base_url).map(|vendor| vendor.cache_key.as_str())
}

pub fn bearer_header(key: &Secret) -> (&'static str, String) {
    ("authorization", format!("Bearer {}", key.expose()))
}

/// Entra's tokens are JWTs.
fn azure_header(key: &Secret) -> (&'static str, String) {
    if key.expose().starts_with("eyJ") { bearer_header(key) } else { ("api-key", key.expose().to_owned()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert!(Endpoint::new("localhost:8080", [], &[], None).is_err());
        assert!(Endpoint::new("ftp://host", [], &[], None).is_err());
        let endpoint = Endpoint::new("https://user:pass@host:444/v1/x?key=1", [], &[], None).unwrap();
        assert_eq!(endpoint.display_url, "https://host:444/v1/x");
        assert!(Endpoint::new("http://host", [("x-key", "a\nb".to_owned())], &[], None).is_err());
    }
}
