//! Vendors whose keys people have in their environment. The data and its sources are in `vendors.toml`.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::config::settings::ProviderKind;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Vendor {
    /// Never empty, and neither are `keys`.
    names: Vec<String>,
    pub keys: Vec<String>,
    /// Empty if a variable must set it.
    pub address: String,
    pub address_var: String,
    pub model_var: String,
    #[serde(rename = "provider")]
    pub kind: ProviderKind,
    /// Empty if the user must name a model.
    pub default: String,
    /// Fallbacks, in order, for accounts that can't use the default.
    pub next: Vec<Arc<str>>,
    models: Vec<String>,
    /// The field or header of Chat Completions that routes requests with the same start to the same cache.
    pub cache_key: String,
    /// The issuer for signing in, if the vendor uses that instead of keys.
    pub account: String,
    /// The page that gives programs their own key, if there is one.
    pub sign_in: String,
    /// The path below the address that is requested to check a key.
    #[serde(default = "model_list")]
    pub check: String,
}

fn model_list() -> String {
    "models".to_owned()
}

#[derive(Deserialize)]
struct File {
    vendors: Vec<Vendor>,
}

const REGION: &str = "{region}";

/// Sent in a different header than keys.
pub const BEARER_KEY: &str = "ANTHROPIC_AUTH_TOKEN";

pub static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    // The tests parse every row.
    toml::from_str::<File>(include_str!("vendors.toml")).map(|file| file.vendors).unwrap_or_default()
});

pub type Var<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Vendor {
    pub fn name(&self) -> &str {
        &self.names[0]
    }

    pub fn has_account(name: &str) -> bool {
        VENDORS.iter().any(|vendor| vendor.is_called(name) && !vendor.account.is_empty())
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    pub fn called(name: &str) -> Result<&'static Self, String> {
        VENDORS.iter().find(|known| known.is_called(name)).ok_or_else(|| {
            let names: Vec<&str> = VENDORS.iter().map(Self::name).collect();
            format!("There is no vendor '{name}'. Choose one of {}.", names.join(", "))
        })
    }

    pub fn of_kind(kind: ProviderKind) -> &'static Self {
        let own = |vendor: &&Self| vendor.kind.same_vendor(kind);
        VENDORS.iter().find(own).unwrap_or(&VENDORS[0])
    }

    /// The vendor at this address, whose key must not be sent anywhere else.
    pub fn at(url: &str) -> Option<&'static Self> {
        let host = |url: &str| url.split('/').nth(2).map(str::to_ascii_lowercase);
        VENDORS.iter().find(|vendor| !vendor.address.is_empty() && host(&vendor.address) == host(url))
    }

    pub fn key(&self, var: Var<'_>) -> Option<(&str, String)> {
        self.keys.iter().find_map(|name| Some((name.as_str(), var(name)?)))
    }

    pub fn base_url(&self, var: Var<'_>) -> Option<String> {
        var(&self.address_var).or_else(|| self.own_address(var))
    }

    /// The address, in the configured region if the vendor has one per region.
    pub fn own_address(&self, var: Var<'_>) -> Option<String> {
        let region =
            || var("AWS_REGION").or_else(|| var("AWS_DEFAULT_REGION")).unwrap_or("us-east-1".to_owned());
        let address = match self.address.contains(REGION) {
            true => self.address.replace(REGION, &region()),
            false => self.address.clone(),
        };
        (!address.is_empty()).then_some(address)
    }

    pub fn is_usable(&self, var: Var<'_>) -> bool {
        match self.key(var) {
            Some(_) => self.base_url(var).is_some(),
            None => !self.address.is_empty() && self.account.is_empty() && var(&self.address_var).is_some(),
        }
    }

    pub fn makes(&self, model: &str) -> bool {
        let model = model.to_ascii_lowercase();
        self.models.iter().any(|begin| model.starts_with(begin.as_str()))
    }

    /// The name that chooses this vendor and its model.
    pub fn full_name(&self, model: &str) -> String {
        let own = format!("{}/", self.name());
        // OpenRouter's own model already has the prefix.
        format!("{own}{}", model.strip_prefix(&own).unwrap_or(model))
    }

    /// The vendor that a name such as `deepseek/deepseek-flash` selects, and its own name for the model.
    pub fn named_in(model: &str) -> Option<(&'static Self, &str)> {
        let (name, own) = model.split_once('/')?;
        let vendor = VENDORS.iter().find(|vendor| vendor.is_called(name))?;
        // `openrouter/auto` is OpenRouter's own name.
        Some((vendor, if vendor.default == model { model } else { own }))
    }
}
