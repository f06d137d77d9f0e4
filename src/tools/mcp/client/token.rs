//! A token request that the crate supports only with a second crypto library: for a client that signs with its
//! key (RFC 7523).

use std::time::Duration;

use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;

use super::assertion;
use super::http;
use provider::wire::http::bounded_text;

const MAX_ANSWER_BYTES: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// With the private key in the file `path`; for a server and its scopes.
pub async fn with_key(
    path: &str,
    metadata: &AuthorizationMetadata,
    client_id: &str,
    (resource, scope): &(&str, String),
) -> Result<Value, String> {
    let pem = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
    let endpoint = metadata.token_endpoint.as_str();
    let assertion = assertion::signed(client_id, metadata.issuer.as_deref().unwrap_or(endpoint), &pem)?;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &assertion),
        ("resource", resource),
        ("scope", scope),
    ];
    let said = |error: &dyn std::fmt::Display| format!("{endpoint}: {error}");
    let filled = form.iter().filter(|(_, value)| !value.is_empty());
    let body = reqwest::Url::parse_with_params("http://form/", filled).map_err(|error| said(&error))?;
    let request = http::client(endpoint)?
        .post(endpoint)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.query().unwrap_or_default().to_owned());
    let sent = tokio::time::timeout(PATIENCE, request.send()).await;
    let response = sent.map_err(|_| said(&"no answer in time"))?.map_err(|error| said(&error))?;
    let status = response.status();
    let text = bounded_text(response, MAX_ANSWER_BYTES, PATIENCE).await;
    match serde_json::from_str(&text) {
        Ok(token) if status.is_success() => Ok(token),
        _ => Err(format!("{endpoint} refused a token ({status}): {text}")),
    }
}
