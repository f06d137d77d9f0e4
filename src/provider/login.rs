//! A vendor's API key: checked with one cheap request and saved, or requested on the vendor's page.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::anthropic::provider as anthropic;
use crate::wire::{chatgpt, endpoint, http};
use base::config::files::raw::Raw;
use base::config::provider::provider_section;
use base::config::provider::saved_keys::{self, FILE_NAME};
use base::config::provider::vendors::Vendor;
use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::provider::ProviderError;
use base::process::task;
use base::secret::{self, Secret};

const PATIENCE: Duration = Duration::from_secs(15);

/// Returns a sentence. `None` removes the saved key.
pub async fn change(folder: &Path, vendor: &str, key: Option<Secret>) -> Result<String, String> {
    let vendor = Vendor::called(vendor)?;
    let (name, exported) = (vendor.name(), vendor.key(&saved_keys::exported).map(|(name, _)| name));
    match (&key, vendor.account.is_empty()) {
        (_, true) => {}
        (Some(_), false) => {
            return Err(format!("{name} has no key: `mycode login {name}` in a terminal signs in."));
        }
        (None, false) => return chatgpt::sign_out(folder, vendor).await,
    }
    let file = folder.join(FILE_NAME);
    let file = file.display();
    let checked = match &key {
        Some(key) if key.expose().is_empty() => return Err("The key is empty.".to_owned()),
        Some(_) if exported.is_some() => {
            let variable = exported.unwrap_or_default();
            return Err(format!(
                "{variable} is exported and would override it. Unset it, start mycode again, then log in."
            ));
        }
        Some(key) => {
            secret::add_token(key.expose());
            let answer = tokio::time::timeout(PATIENCE, check(vendor, key)).await;
            answer.unwrap_or(Err(ProviderError::Stalled { seconds: PATIENCE.as_secs() }))
        }
        None => Ok(()),
    };
    let note = match checked {
        Ok(()) => "",
        Err(
            ProviderError::NotFound { .. }
            | ProviderError::BadRequest { .. }
            | ProviderError::WrongEndpoint { .. }
            | ProviderError::RateLimited { .. },
        ) => " The server couldn't check it.",
        Err(error) => return Err(format!("The key was not saved: {error}.")),
    };
    let (folder, save) = (folder.to_owned(), key.clone());
    let saved = task::blocking(move || saved_keys::save(&folder, vendor, save.as_ref())).await;
    match (saved.map_err(std::io::Error::other).flatten(), key, exported) {
        (Err(error), ..) => Err(format!("The key can't be saved: {file} {error}.")),
        (Ok(_), Some(_), _) => {
            Ok(format!("The key for {name} is saved in {file}, readable only by you.{note}"))
        }
        (Ok(true), None, _) => Ok(format!("The key for {name} is removed from {file}.")),
        (Ok(false), None, Some(variable)) => Err(format!("{variable} is exported; unset it in your shell.")),
        (Ok(false), None, None) => Err(format!("No key for {name} is saved.")),
    }
}

fn settings(vendor: &Vendor, key: Option<Secret>) -> Result<ProviderSettings, ProviderError> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let address = vendor
        .base_url(&var)
        .ok_or_else(|| ProviderError::Setup(format!("{} must name the server first", vendor.address_var)))?;
    Ok(provider_section::settings(&Raw::default(), vendor.kind, address, key, ""))
}

async fn check(vendor: &Vendor, key: &Secret) -> Result<(), ProviderError> {
    let settings = settings(vendor, Some(key.clone()))?;
    let endpoint = match vendor.kind {
        ProviderKind::Anthropic => anthropic::get_endpoint(&settings, &vendor.check)?,
        _ => endpoint::openai_endpoint(&settings, &format!("/{}", vendor.check))?.0,
    };
    endpoint.get().await.map(drop)
}

const PAGE_PATIENCE: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 64 * 1024;

/// A key that a vendor's page gives to this program (PKCE with S256): OpenRouter's guide "OAuth PKCE", November 2026.
pub struct KeyRequest {
    vendor: &'static Vendor,
    verifier: String,
}

impl KeyRequest {
    pub fn new(vendor: &str) -> Result<Self, String> {
        let vendor = Vendor::called(vendor)?;
        if vendor.sign_in.is_empty() {
            let name = vendor.name();
            return Err(format!(
                "{name} has no page for this. `mycode login {name}` saves one that you paste."
            ));
        }
        Ok(Self { vendor, verifier: chatgpt::random()? })
    }

    /// The page where the user agrees; the browser is then redirected to `callback` with a `code`.
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
        let settings = self::settings(self.vendor, None).map_err(|error| refused(error.to_string()))?;
        let (endpoint, _) =
            endpoint::openai_endpoint(&settings, "/auth/keys").map_err(|error| refused(error.to_string()))?;
        let body = json!({"code": code, "code_verifier": self.verifier, "code_challenge_method": "S256"});
        let reply = endpoint.post(&body.to_string()).await.map_err(|error| refused(error.to_string()))?;
        let text = http::bounded_text(reply, MOST_BYTES, PAGE_PATIENCE).await;
        let reply: Value = serde_json::from_str(&text).unwrap_or_default();
        reply["key"].as_str().map(Secret::new).ok_or_else(|| refused("the answer has none".to_owned()))
    }
}
