//! Signing in to a server by OAuth 2.1: what the server's challenge and its metadata say is found out by the crate; here are the
//! browser and its way back to us, and the grants without a user.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore, OAuthClientConfig, OAuthTokenResponse,
    StoredCredentials,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::assertion;
use super::credentials::CredentialFile;
use super::http::{self, SignInHttp};
use crate::base::clock;
use crate::mcp::config::server::OAuth;
use crate::provider::wire::http::bounded_text;

/// Shows the user the page on which they sign in.
pub type ShowPage = Arc<dyn Fn(&str) + Send + Sync>;

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(300);
const MAX_ANSWER_BYTES: usize = 64 * 1024;
const CLIENT_CREDENTIALS: &str = "client_credentials";
/// A key signs in place of a secret.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n";

/// The sign-in of one server.
pub struct SignIn {
    pub url: String,
    /// Its variables are replaced.
    pub oauth: OAuth,
    /// Where tokens stay; `None`: with this process.
    pub file: Option<CredentialFile>,
    /// `None` where no user can sign in.
    pub show: Option<ShowPage>,
}

impl SignIn {
    /// With the tokens of an earlier sign-in, if there are any.
    ///
    /// # Errors
    /// The address is none.
    pub async fn earlier(&self) -> Result<AuthorizationManager, String> {
        let mut manager = self.manager().await?;
        // An authorization server that cannot be asked now will be needed only when the token is refused.
        if manager.initialize_from_store().await.unwrap_or(false)
            && let (Some(id), Some(secret)) = (&self.oauth.client_id, &self.oauth.client_secret)
        {
            let client = OAuthClientConfig::new(id, "http://127.0.0.1/callback").with_client_secret(secret);
            manager.configure_client(client).map_err(said)?;
        }
        Ok(manager)
    }

    /// Signs in as the server's challenge asks for it.
    ///
    /// # Errors
    /// Why it failed, for the user.
    pub async fn now(&self, challenge: Option<&str>) -> Result<AuthorizationManager, String> {
        let mut manager = self.manager().await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(said)?;
        manager.set_metadata(found.metadata.clone());
        if self.without_user() {
            self.with_client_credentials(&mut manager, &found.metadata).await?;
            return Ok(manager);
        }
        let show = self.show.as_ref().ok_or("nobody can sign in here")?;
        let port = self.oauth.callback_port;
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(|error| {
            format!("port {} for the answer of the browser: {error}", port.unwrap_or(0))
        })?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        // A port that was agreed upon is registered under this name.
        let host = if port.is_some() { "localhost" } else { "127.0.0.1" };
        let mut request = AuthorizationRequest::new(format!("http://{host}:{}/callback", address.port()))
            .with_client_name("MyCodeAgent")
            .with_initial_scope_selection()
            .with_scopes(self.oauth.scopes.clone());
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
        let answer = tokio::time::timeout(PATIENCE, answered(&listener));
        let answer = answer.await.map_err(|_| "nobody signed in within 5 minutes".to_owned())??;
        session.handle_callback_url(&answer).await.map_err(said)?;
        Ok(session.auth_manager)
    }

    /// Whether it needs no user.
    pub fn without_user(&self) -> bool {
        self.oauth.grant_type.as_deref() == Some(CLIENT_CREDENTIALS)
    }

    async fn manager(&self) -> Result<AuthorizationManager, String> {
        let http = Arc::new(SignInHttp);
        let manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http).await;
        let mut manager = manager.map_err(said)?;
        if let Some(file) = &self.file {
            manager.set_credential_store(file.clone());
        }
        Ok(manager)
    }

    async fn with_client_credentials(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &AuthorizationMetadata,
    ) -> Result<(), String> {
        let client_id = self.oauth.client_id.clone().ok_or("`oauth` has no clientId")?;
        let mut scopes = self.oauth.scopes.clone();
        if scopes.is_empty() {
            scopes = manager.select_initial_scopes(&[]).await;
        }
        if let Some(path) = &self.oauth.private_key_file {
            return self.with_key(manager, metadata, &client_id, path, &scopes).await;
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

    /// The crate would bring a second implementation of cryptography for this.
    async fn with_key(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &AuthorizationMetadata,
        client_id: &str,
        path: &str,
        scopes: &[String],
    ) -> Result<(), String> {
        let pem = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
        let audience = metadata.issuer.as_deref().unwrap_or(&metadata.token_endpoint);
        let assertion = assertion::signed(client_id, audience, &pem)?;
        let scope = scopes.join(" ");
        let mut form = vec![
            ("grant_type", CLIENT_CREDENTIALS),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", &assertion),
            ("resource", &self.url),
        ];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let endpoint = reqwest::Url::parse_with_params(&metadata.token_endpoint, form).map_err(said)?;
        let body = endpoint.query().unwrap_or_default().to_owned();
        let request = http::client(&metadata.token_endpoint)?
            .post(&metadata.token_endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let response = request.send().await.map_err(said)?;
        let status = response.status();
        let text = bounded_text(response, MAX_ANSWER_BYTES, Duration::from_secs(30)).await;
        let token: OAuthTokenResponse = match serde_json::from_str(&text) {
            Ok(token) if status.is_success() => token,
            _ => return Err(format!("the token was refused ({status}): {text}")),
        };
        let received = clock::now_ms() / 1000;
        let kept = StoredCredentials::new(client_id.to_owned(), Some(token), scopes.to_vec(), Some(received))
            .with_issuer(metadata.issuer.clone());
        match &self.file {
            Some(file) => file.save(kept).await.map_err(said)?,
            None => {
                let store = InMemoryCredentialStore::new();
                store.save(kept).await.map_err(said)?;
                manager.set_credential_store(store);
            }
        }
        manager.configure_client_id(client_id).map_err(said)
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Waits for the browser to come back; its address with all parameters.
async fn answered(listener: &TcpListener) -> Result<String, String> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(said)?;
        let mut head = vec![0; 16 * 1024];
        let Ok(Ok(count)) = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut head)).await else {
            continue;
        };
        let head = String::from_utf8_lossy(&head[..count]).into_owned();
        let target = head.split_whitespace().nth(1).unwrap_or_default();
        // Browsers ask for other things, too.
        if !target.starts_with("/callback?") {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n").await;
            continue;
        }
        let url = reqwest::Url::parse(&format!("http://127.0.0.1{target}")).map_err(said)?;
        let parameter = |wanted: &str| {
            url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
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
