//! A key that a vendor gives to this program on a page of its own (PKCE with S256): OpenRouter's guide "OAuth PKCE", November 2026.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use rustls::crypto::ring;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::login;
use crate::wire::http;
use base::config::provider::vendors::Vendor;
use base::secret::Secret;

const PATIENCE: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 64 * 1024;

pub struct KeyRequest {
    vendor: &'static Vendor,
    verifier: String,
}

impl KeyRequest {
    pub fn new(vendor: &str) -> Result<Self, String> {
        let vendor = login::vendor(vendor)?;
        if vendor.sign_in.is_empty() {
            let name = vendor.name();
            return Err(format!(
                "{name} has no page for this. `mycode login {name}` saves one that you paste."
            ));
        }
        let mut bytes = [0; 32];
        let filled = ring::default_provider().secure_random.fill(&mut bytes);
        filled.map_err(|_| "Reading random numbers from the system failed.".to_owned())?;
        Ok(Self { vendor, verifier: URL_SAFE_NO_PAD.encode(bytes) })
    }

    /// Where the user agrees; the browser then comes to `callback` with a `code`.
    pub fn page(&self, callback: &str) -> Result<String, String> {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let query = [
            ("callback_url", callback),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let page = Url::parse_with_params(&self.vendor.sign_in, query);
        page.map(String::from).map_err(|error| format!("{}: {error}.", self.vendor.sign_in))
    }

    pub async fn key(&self, redirect: &str) -> Result<Secret, String> {
        let refused = |why: String| format!("{} sent no key: {why}.", self.vendor.name());
        let redirect = Url::parse(redirect).map_err(|error| refused(error.to_string()))?;
        let code = redirect.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
        let code = code.ok_or_else(|| refused("its page sent no code".to_owned()))?;
        let settings = login::settings(self.vendor, None).map_err(|error| refused(error.to_string()))?;
        let (endpoint, _) =
            http::openai_endpoint(&settings, "/auth/keys").map_err(|error| refused(error.to_string()))?;
        let body = json!({"code": code, "code_verifier": self.verifier, "code_challenge_method": "S256"});
        let reply = endpoint.post(&body.to_string()).await.map_err(|error| refused(error.to_string()))?;
        let text = http::bounded_text(reply, MOST_BYTES, PATIENCE).await;
        let reply: Value = serde_json::from_str(&text).unwrap_or_default();
        reply["key"].as_str().map(Secret::new).ok_or_else(|| refused("the answer has none".to_owned()))
    }
}
