//! The provider section: which vendor or server is used, with which key. First wins: `provider`, a script, an address;
//! then the vendor prefix of the model's name, the model's maker, the first vendor with a key.

use std::path::Path;
use std::sync::Arc;

use super::vendors::{BEARER_KEY, VENDORS, Var, Vendor};
use crate::config::error::{ConfigError, bad};
use crate::config::files::raw::Raw;
use crate::config::settings::{KeySource, ProviderKind, ProviderSettings};
use crate::secret::{self, Secret};

struct Choice {
    vendor: &'static Vendor,
    kind: ProviderKind,
    model: Option<String>,
    /// Only this vendor's own key may be sent there.
    by_name: bool,
}

pub fn read(raw: &Raw, var: Var<'_>, servers: &Path) -> Result<Option<ProviderSettings>, ConfigError> {
    for name in VENDORS.iter().flat_map(|vendor| &vendor.keys) {
        secret::keep_from_children(name);
    }
    let kept = |made: ProviderSettings| ProviderSettings { servers: Some(servers.to_owned()), ..made };
    if raw.provider.is_none_or(|kind| kind == ProviderKind::Scripted)
        && (raw.script.is_some() || raw.provider.is_some())
    {
        let model = raw.model.as_deref().unwrap_or("scripted");
        let made = settings(raw, ProviderKind::Scripted, String::new(), None, model);
        if made.script.is_none() {
            let hint = "add --script FILE (one JSON reply per line)";
            return Err(bad("the scripted provider has no script", hint));
        }
        return Ok(Some(kept(made)));
    }
    let var = &|name: &str| var(name).filter(|value| !value.trim().is_empty());
    let Some(choice) = choose(raw, var)? else { return Ok(None) };
    for_choice(raw, var, choice).map(kept).map(Some)
}

/// The other vendors with keys, by name, each with its default model; none if the user has a server of their own.
pub fn others(
    raw: &Raw,
    var: Var<'_>,
    chosen: Option<&ProviderSettings>,
) -> Vec<(&'static Vendor, ProviderSettings)> {
    let var = &|name: &str| var(name).filter(|value| !value.trim().is_empty());
    let Some(chosen) = chosen.filter(|_| raw.base_url.is_none() && raw.script.is_none() && !has_address(var))
    else {
        return Vec::new();
    };
    let usable = VENDORS.iter().filter(|vendor| vendor.is_usable(var));
    usable
        .filter_map(|vendor| {
            let model = if vendor.default.is_empty() { "?" } else { &vendor.default };
            let choice = Choice { vendor, kind: vendor.kind, model: Some(model.to_owned()), by_name: true };
            let made = for_choice(raw, var, choice).ok()?;
            let made = ProviderSettings { servers: chosen.servers.clone(), ..made };
            (!made.same_server(chosen)).then_some((vendor, made))
        })
        .collect()
}

/// Whether a variable names a server that imitates one of the first two vendors.
fn has_address(var: Var<'_>) -> bool {
    let foreign =
        |vendor: &Vendor| var(&vendor.address_var).is_some_and(|url| Vendor::at(&url) != Some(vendor));
    VENDORS[..2].iter().any(foreign)
}

/// The other vendor that a model's name selects, with its own name for the model.
pub fn chosen(model: &str, others: &[(&'static Vendor, ProviderSettings)]) -> Option<ProviderSettings> {
    let (vendor, own) = Vendor::named_in(model)?;
    let (_, settings) = others.iter().find(|(other, _)| *other == vendor)?;
    Some(ProviderSettings { model: own.into(), ..settings.clone() })
}

fn choose(raw: &Raw, var: Var<'_>) -> Result<Option<Choice>, ConfigError> {
    let model = raw.model.clone();
    let by_kind = |kind| Choice { vendor: Vendor::of_kind(kind), kind, model: model.clone(), by_name: false };
    if let Some(kind) = raw.provider {
        return Ok(Some(by_kind(kind)));
    }
    if let Some(url) = &raw.base_url {
        return Ok(Some(by_kind(guess_kind(url, model.as_deref()))));
    }
    let wanted = model.as_deref().unwrap_or_default();
    let usable = |vendor: &Vendor| vendor.is_usable(var);
    let beside_address = has_address(var);
    if let (Some((vendor, own)), false) = (Vendor::named_in(wanted), beside_address) {
        let router = VENDORS.iter().find(|vendor| vendor.is_called("openrouter") && usable(vendor));
        return match (usable(vendor), router) {
            (true, _) => {
                let model = Some(own.to_owned());
                Ok(Some(Choice { vendor, kind: vendor.kind, model, by_name: true }))
            }
            (false, Some(vendor)) => Ok(Some(Choice { vendor, kind: vendor.kind, model, by_name: true })),
            // Local servers also use such names.
            (false, None) if vendor.key(var).is_none() && !VENDORS.iter().any(usable) => Ok(None),
            (false, None) => {
                let missing = if vendor.key(var).is_some() { &vendor.address_var } else { &vendor.keys[0] };
                Err(bad(
                    format!("no key or address for {} (model {wanted})", vendor.name()),
                    format!("export {missing}=…, or name another model with --model"),
                ))
            }
        };
    }
    // An address in the environment means the user's own server, so other vendors' keys don't count.
    let vendors = if beside_address { &VENDORS[..2] } else { &VENDORS[..] };
    let mut usable = vendors.iter().filter(|vendor| usable(vendor));
    let maker = usable.clone().find(|vendor| vendor.makes(wanted) && vendor.key(var).is_some());
    let found = maker.or_else(|| usable.next()).or(raw.api_key_command.as_ref().map(|_| &VENDORS[0]));
    Ok(found.map(|vendor| Choice { vendor, kind: vendor.kind, model, by_name: false }))
}

fn for_choice(raw: &Raw, var: Var<'_>, choice: Choice) -> Result<ProviderSettings, ConfigError> {
    let Choice { vendor, kind, model, by_name } = choice;
    let base_url = raw.base_url.clone().filter(|_| !by_name).or_else(|| vendor.base_url(var));
    let base_url = base_url.unwrap_or_default().trim().trim_end_matches('/').to_owned();
    if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
        return Err(bad(
            format!("invalid base URL '{base_url}'"),
            "it must start with http:// or https://, such as http://localhost:11434/v1",
        ));
    }
    let account = vendor.key(var).filter(|_| !vendor.account.is_empty());
    let (key, bearer) = match &account {
        Some(_) => (None, false),
        None => key(raw, var, vendor, &base_url, by_name)?,
    };
    let own_address = vendor.own_address(var).as_ref() == Some(&base_url);
    let command = raw.api_key_command.as_deref().filter(|_| !by_name);
    let key_source = account
        .map(|(_, file)| KeySource::Account(file.into()))
        .or(command.map(|command| KeySource::Command(command.into())));
    if key.is_none() && key_source.is_none() && own_address {
        return Err(bad(
            format!("no API key for {base_url}"),
            format!(
                "run `mycode login {}` or export {}=…, or use --base-url with a server that needs no key",
                vendor.name(),
                vendor.keys[0]
            ),
        ));
    }
    let model = model.or_else(|| var(&vendor.model_var));
    let next_models = if model.is_none() { vendor.next.clone() } else { Vec::new() };
    let by_default = || (own_address && !vendor.default.is_empty()).then(|| vendor.default.clone());
    let Some(model) = model.or_else(by_default) else {
        return Err(bad(
            format!("no model is set for {base_url}"),
            "add --model NAME, or set MYCODE_MODEL (`mycode models` lists what the server has)",
        ));
    };
    let mut made = settings(raw, kind, base_url, key.map(|text| Secret::new(&text)), &model);
    made.bearer = bearer;
    (made.key_source, made.next_models) = (key_source, next_models);
    if by_name && Vendor::of_kind(vendor.kind) != vendor {
        // Headers may contain another server's key.
        made.headers.clear();
    }
    Ok(made)
}

/// The key, and whether it is a token for the `authorization` header whatever the dialect.
fn key(
    raw: &Raw,
    var: Var<'_>,
    vendor: &Vendor,
    base_url: &str,
    by_name: bool,
) -> Result<(Option<String>, bool), ConfigError> {
    let of = |vendor: &Vendor| vendor.key(var).map(|(name, key)| (Some(key), name == BEARER_KEY));
    if by_name {
        return Ok(of(vendor).unwrap_or_default());
    }
    if raw.api_key_command.is_some() {
        if raw.base_url.is_none() && raw.provider.is_none() {
            return Err(bad(
                "api_key_command is set, but not where its token belongs",
                "set base_url or provider next to it in config.toml",
            ));
        }
        return Ok((None, false));
    }
    if let Some(name) = &raw.api_key_env {
        secret::keep_from_children(name);
        return match var(name) {
            Some(key) => Ok((Some(key), name == BEARER_KEY)),
            None => Err(bad(
                format!("api_key_env names {name}, which is not set"),
                format!("export {name}=… in your shell, or correct api_key_env"),
            )),
        };
    }
    if let Some(key) = var("MYCODE_API_KEY") {
        return Ok((Some(key), false));
    }
    Ok(Vendor::at(base_url).and_then(of).or_else(|| of(vendor)).unwrap_or_default())
}

fn guess_kind(base_url: &str, model: Option<&str>) -> ProviderKind {
    let anthropic = base_url.contains("anthropic") && model.is_none_or(|model| model.starts_with("claude"));
    if anthropic { ProviderKind::Anthropic } else { ProviderKind::Openai }
}

pub fn settings(
    raw: &Raw,
    kind: ProviderKind,
    base_url: String,
    api_key: Option<Secret>,
    model: &str,
) -> ProviderSettings {
    ProviderSettings {
        kind,
        base_url,
        api_key,
        model: model.into(),
        script: raw.script.clone(),
        headers: raw.headers.clone().unwrap_or_default().into_iter().collect(),
        idle_timeout_s: raw.idle_timeout_s.unwrap_or(300).max(1),
        answer_timeout_s: raw.answer_timeout_s.unwrap_or(3_600).max(1),
        max_tries: raw.max_tries.unwrap_or(6).clamp(1, 20),
        wait_s: raw.wait_s,
        max_output_tokens: raw.max_output_tokens,
        temperature: raw.temperature,
        reasoning_effort: raw.reasoning_effort.as_deref().map(Arc::from),
        verbosity: raw.verbosity.as_deref().map(Arc::from),
        tool_calls: raw.tool_calls.unwrap_or_default(),
        ..ProviderSettings::default()
    }
}
