//! OAuth 2.1 sign-in: the browser and its redirect, and grants without a user. The protocol crate does the rest.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::transport::auth::CredentialStore as _;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, OAuthClientConfig, OAuthTokenResponse, StoredCredentials,
};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::credentials::CredentialFile;
use super::http::{SignInHttp, same_origin};
use crate::mcp::config::server::OAuth;
use base::clock;
use provider::wire::http;

pub type ShowPage = Arc<dyn Fn(&str) + Send + Sync>;

pub const PATIENCE: Duration = Duration::from_secs(300);
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n";

pub struct SignIn {
    pub url: String,
    pub oauth: OAuth,
    pub file: Option<CredentialFile>,
    /// `None` if no user can sign in.
    pub show: Option<ShowPage>,
}

impl SignIn {
    pub async fn earlier(&self) -> Result<AuthorizationManager, String> {
        let mut manager = self.manager(false).await?;
        // An unreachable authorization server matters only if the token is refused.
        if manager.initialize_from_store().await.unwrap_or(false)
            && let (Some(id), Some(secret)) = (&self.oauth.client_id, &self.oauth.client_secret)
        {
            let client = OAuthClientConfig::new(id, "http://127.0.0.1/callback").with_client_secret(secret);
            manager.configure_client(client).map_err(said)?;
        }
        Ok(manager)
    }

    pub async fn now(&self, challenge: Option<&str>) -> Result<AuthorizationManager, String> {
        let mut manager = self.manager(false).await?;
        let found = match manager.resolve_metadata_from_challenge(challenge).await {
            // Servers of the March 2025 protocol are their own authorization server and may name a path as issuer.
            Err(AuthError::AuthorizationServerMismatch { received_issuer, .. })
                if same_origin(&received_issuer, &self.url) =>
            {
                manager = self.manager(true).await?;
                manager.resolve_metadata_from_challenge(challenge).await
            }
            found => found,
        };
        let found = found.map_err(said)?;
        manager.set_metadata(found.metadata.clone());
        let scopes = self.scopes(&manager, challenge.unwrap_or_default()).await?;
        if self.without_user() {
            self.with_client_credentials(&mut manager, &found.metadata, scopes).await?;
            return Ok(manager);
        }
        let show = self.show.as_ref().ok_or("no one can sign in here")?;
        let port = self.oauth.callback_port;
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(|error| {
            format!("can't listen on port {} for the browser's answer: {error}", port.unwrap_or(0))
        })?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        // A preconfigured port is registered under `localhost`.
        let host = if port.is_some() { "localhost" } else { "127.0.0.1" };
        let mut request = AuthorizationRequest::new(format!("http://{host}:{}/callback", address.port()))
            .with_client_name("MyCodeAgent")
            .with_initial_scope_selection()
            .with_scopes(scopes);
        if let Some(id) = &self.oauth.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = &self.oauth.client_secret {
            request = request.with_client_secret(secret);
        }
        if let Some(document) = &self.oauth.client_metadata_url {
            request = request.with_client_metadata_url(document);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| said(error))?;
        show(&session.auth_url);
        let answer = tokio::time::timeout(PATIENCE, answered(&listener, ("/callback", None)));
        let answer = answer.await.map_err(|_| "no one signed in within 5 minutes".to_owned())??;
        session.handle_callback_url(&answer).await.map_err(said)?;
        Ok(session.auth_manager)
    }

    /// The configured or the server's scopes. If a call needs more, adds those and all granted before.
    async fn scopes(&self, manager: &AuthorizationManager, challenge: &str) -> Result<Vec<String>, String> {
        let mut scopes = self.oauth.scopes.clone();
        let more = challenge.contains("insufficient_scope");
        if let Some(file) = self.file.as_ref().filter(|_| more) {
            scopes.extend(file.load().await.map_err(said)?.into_iter().flat_map(|kept| kept.granted_scopes));
        }
        if more || scopes.is_empty() {
            scopes.extend(manager.select_initial_scopes(&[]).await);
        }
        let mut seen = HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        Ok(scopes)
    }

    pub fn without_user(&self) -> bool {
        self.oauth.grant_type.as_deref() == Some("client_credentials")
    }

    /// `own_issuer`: ignore the issuer named in the server's own documents.
    async fn manager(&self, own_issuer: bool) -> Result<AuthorizationManager, String> {
        let http = Arc::new(SignInHttp { own_issuer });
        let manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http).await;
        let mut manager = manager.map_err(said)?;
        manager.set_allow_missing_issuer(own_issuer);
        if let Some(file) = &self.file {
            manager.set_credential_store(file.clone());
        }
        Ok(manager)
    }

    async fn with_client_credentials(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &AuthorizationMetadata,
        scopes: Vec<String>,
    ) -> Result<(), String> {
        let client_id = self.oauth.client_id.clone().ok_or("`oauth` has no clientId")?;
        if let Some(path) = &self.oauth.private_key_file {
            let place = (self.url.as_str(), scopes.join(" "));
            let token = key_token(path, metadata, &client_id, &place).await?;
            self.keep(metadata, &client_id, token, scopes).await?;
            return manager.configure_client_id(&client_id).map_err(said);
        }
        let client_secret = self.oauth.client_secret.clone();
        let config = ClientCredentialsConfig::ClientSecret {
            client_id,
            client_secret: client_secret.ok_or("`oauth` has neither clientSecret nor privateKeyFile")?,
            scopes,
            resource: Some(self.url.clone()),
        };
        manager.validate_client_credentials_metadata(&config).map_err(said)?;
        manager.configure_client_credentials(&config).map_err(said)?;
        manager.exchange_client_credentials(&config).await.map(drop).map_err(said)
    }

    async fn keep(
        &self,
        metadata: &AuthorizationMetadata,
        client_id: &str,
        token: Value,
        scopes: Vec<String>,
    ) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let token: OAuthTokenResponse = serde_json::from_value(token).map_err(said)?;
        let received = clock::now_ms() / 1000;
        let kept = StoredCredentials::new(client_id.to_owned(), Some(token), scopes, Some(received))
            .with_issuer(metadata.issuer.clone());
        file.save(kept).await.map_err(said)
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Waits for the browser's redirect to `path` (with `state`, if given); returns its address with all parameters.
pub async fn answered(listener: &TcpListener, (path, state): (&str, Option<&str>)) -> Result<String, String> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(said)?;
        let mut head = vec![0; 16 * 1024];
        let Ok(Ok(count)) = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut head)).await else {
            continue;
        };
        let head = String::from_utf8_lossy(&head[..count]).into_owned();
        let target = head.split_whitespace().nth(1).unwrap_or_default();
        let url = reqwest::Url::parse(&format!("http://127.0.0.1{target}")).ok();
        let parameter = |wanted: &str| {
            let mut pairs = url.iter().flat_map(reqwest::Url::query_pairs);
            pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        // Browsers, and possibly other programs, make other requests too, such as for icons.
        let meant = |url: &&reqwest::Url| {
            url.path() == path && state.is_none_or(|state| parameter("state").as_deref() == Some(state))
        };
        let Some(url) = url.as_ref().filter(meant) else {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n").await;
            continue;
        };
        let refused = parameter("error").map(|error| {
            parameter("error_description").map_or(error.clone(), |about| format!("{error}: {about}"))
        });
        let text = match &refused {
            None => "Signed in. You can close this page and go back to mycode.\n",
            Some(_) => "Not signed in. Go back to mycode for the reason.\n",
        };
        let _ = stream.write_all(format!("{PAGE}{text}").as_bytes()).await;
        let _ = stream.shutdown().await;
        return refused.map_or(Ok(url.to_string()), Err);
    }
}

// Client authentication with a private key (RFC 7523), which the crate supports only with a second crypto library:
// gets a token for `client_credentials` with a signed assertion.

/// How long an assertion is valid, in seconds.
const LIFETIME: u64 = 300;

/// Signs with the private key in the file `path`.
async fn key_token(
    path: &str,
    metadata: &AuthorizationMetadata,
    client_id: &str,
    (resource, scope): &(&str, String),
) -> Result<Value, String> {
    let pem = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
    let endpoint = metadata.token_endpoint.as_str();
    let assertion = signed(client_id, metadata.issuer.as_deref().unwrap_or(endpoint), &pem)?;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &assertion),
        ("resource", resource),
        ("scope", scope),
    ];
    let filled: Vec<(&str, &str)> = form.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    match http::ask(endpoint, Some(&filled)).await? {
        (200..300, token) if token.is_object() => Ok(token),
        (status, answer) => Err(format!("{endpoint} refused a token (HTTP {status}): {answer}")),
    }
}

fn signed(client_id: &str, audience: &str, pem: &[u8]) -> Result<String, String> {
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|error| format!("the private key: {error}"))?;
    let key = sign::any_supported_type(&key).map_err(|error| format!("the private key: {error}"))?;
    let algorithms =
        [(SignatureScheme::ECDSA_NISTP256_SHA256, "ES256"), (SignatureScheme::RSA_PKCS1_SHA256, "RS256")];
    let signer = algorithms.iter().find_map(|(scheme, name)| Some((key.choose_scheme(&[*scheme])?, *name)));
    let (signer, algorithm) = signer.ok_or("the private key is neither for ES256 nor for RS256")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let header = json!({"alg": algorithm, "typ": "client-authentication+jwt"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + LIFETIME,
        "jti": format!("{:032x}", fastrand::u128(..)),
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = signer.sign(text.as_bytes()).map_err(|error| error.to_string())?;
    let signature = match algorithm {
        "ES256" => fixed_size(&signature).ok_or("the signature has an unexpected format")?,
        _ => signature,
    };
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The two numbers of an ECDSA signature, 32 bytes each, from their ASN.1 form (a sequence of two integers).
fn fixed_size(der: &[u8]) -> Option<Vec<u8>> {
    let mut rest = der.strip_prefix(&[0x30])?.get(1..)?;
    let mut out = Vec::with_capacity(64);
    for _ in 0..2 {
        let (&length, after) = rest.strip_prefix(&[0x02])?.split_first()?;
        let (number, after) = after.split_at_checked(length.into())?;
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        out.resize(out.len() + 32_usize.checked_sub(number.len())?, 0);
        out.extend_from_slice(number);
        rest = after;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_fixed_size() {
        let der = [0x30, 0x08, 0x02, 0x02, 0x00, 0x81, 0x02, 0x02, 0x12, 0x34];
        let fixed = fixed_size(&der).unwrap_or_default();
        assert_eq!((fixed.len(), fixed[31], &fixed[62..]), (64, 0x81, &[0x12, 0x34][..]));
        assert_eq!(fixed_size(&[0x30, 0x02, 0x02]), None);
    }
}
