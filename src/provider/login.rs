//! Checks a vendor's API key with one cheap request, and saves it.

use std::path::Path;
use std::time::Duration;

use crate::anthropic::provider as anthropic;
use crate::wire::http;
use base::config::files::raw::Raw;
use base::config::provider::provider_section;
use base::config::provider::saved_keys::{self, FILE_NAME};
use base::config::provider::vendors::{VENDORS, Vendor};
use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::provider::ProviderError;
use base::process::task;
use base::secret::{self, Secret};

const PATIENCE: Duration = Duration::from_secs(15);

/// Answers in a sentence. `None` removes the saved key.
pub async fn change(folder: &Path, vendor: &str, key: Option<Secret>) -> Result<String, String> {
    let vendor = self::vendor(vendor)?;
    let (name, exported) = (vendor.name(), saved_keys::exported_key(vendor));
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

pub(crate) fn vendor(name: &str) -> Result<&'static Vendor, String> {
    VENDORS.iter().find(|known| known.is_called(name)).ok_or_else(|| {
        let names: Vec<&str> = VENDORS.iter().map(Vendor::name).collect();
        format!("There is no vendor {name}. Choose one of {}.", names.join(", "))
    })
}

pub(crate) fn settings(vendor: &Vendor, key: Option<Secret>) -> Result<ProviderSettings, ProviderError> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let address = vendor.base_url(&var).ok_or_else(|| ProviderError::Setup {
        message: format!("{} must name the server first", vendor.address_var),
    })?;
    Ok(provider_section::settings(&Raw::default(), vendor.kind, address, key, ""))
}

async fn check(vendor: &Vendor, key: &Secret) -> Result<(), ProviderError> {
    let settings = settings(vendor, Some(key.clone()))?;
    let endpoint = match vendor.kind {
        ProviderKind::Anthropic => anthropic::get_endpoint(&settings, &vendor.check)?,
        _ => http::openai_endpoint(&settings, &format!("/{}", vendor.check))?.0,
    };
    endpoint.get().await.map(drop)
}
