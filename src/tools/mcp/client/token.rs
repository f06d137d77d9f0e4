//! Token requests that the crate doesn't support, or only with a second crypto library: a client that signs
//! with its key (RFC 7523), and one vouched for by an enterprise identity provider (SEP-990: the ID
//! token is exchanged for a grant, and that for a token).

use std::time::Duration;

use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;

use super::assertion;
use super::http;
use crate::mcp::config::server::IdentityProvider;
use provider::wire::http::bounded_text;

const MAX_ANSWER_BYTES: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

pub struct TokenRequest<'a> {
    pub metadata: &'a AuthorizationMetadata,
    pub client_id: &'a str,
    /// The server the token is for.
    pub resource: &'a str,
    pub scope: &'a str,
}

impl TokenRequest<'_> {
    /// For a client that signs with the private key in this file.
    pub async fn with_key(&self, path: &str) -> Result<Value, String> {
        let pem = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
        let audience = self.metadata.issuer.as_deref().unwrap_or(&self.metadata.token_endpoint);
        let assertion = assertion::signed(self.client_id, audience, &pem)?;
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", &assertion),
            ("resource", self.resource),
            ("scope", self.scope),
        ];
        post(&self.metadata.token_endpoint, &form, None).await
    }

    /// For a user vouched for by their identity provider.
    pub async fn vouched(&self, provider: &IdentityProvider, secret: &str) -> Result<Value, String> {
        let audience = self.metadata.issuer.as_deref().unwrap_or(&self.metadata.token_endpoint);
        let exchange = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
            ("audience", audience),
            ("resource", self.resource),
            ("scope", self.scope),
            ("subject_token", &provider.id_token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("client_id", &provider.client_id),
        ];
        let grant = post(&provider.token_endpoint, &exchange, None).await?;
        let grant = grant["access_token"].as_str().ok_or("the identity provider gave no grant")?;
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", grant),
            ("resource", self.resource),
            ("scope", self.scope),
        ];
        post(&self.metadata.token_endpoint, &form, Some((self.client_id, secret))).await
    }
}

async fn post(endpoint: &str, form: &[(&str, &str)], client: Option<(&str, &str)>) -> Result<Value, String> {
    let said = |error: &dyn std::fmt::Display| format!("{endpoint}: {error}");
    let filled = form.iter().filter(|(_, value)| !value.is_empty());
    let body = reqwest::Url::parse_with_params("http://form/", filled).map_err(|error| said(&error))?;
    let mut request = http::client(endpoint)?
        .post(endpoint)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.query().unwrap_or_default().to_owned());
    if let Some((id, secret)) = client {
        request = request.basic_auth(encoded(id), Some(encoded(secret)));
    }
    let sent = tokio::time::timeout(PATIENCE, request.send()).await;
    let response = sent.map_err(|_| said(&"no answer in time"))?.map_err(|error| said(&error))?;
    let status = response.status();
    let text = bounded_text(response, MAX_ANSWER_BYTES, PATIENCE).await;
    match serde_json::from_str(&text) {
        Ok(token) if status.is_success() => Ok(token),
        _ => Err(format!("{endpoint} refused a token ({status}): {text}")),
    }
}

fn encoded(text: &str) -> String {
    let url = reqwest::Url::parse_with_params("http://form/", [("", text)]);
    url.ok().and_then(|url| Some(url.query()?.trim_start_matches('=').to_owned())).unwrap_or_default()
}
