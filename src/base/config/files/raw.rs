//! The shape of a `config.toml` (and of `MYCODE_*` variables): all keys optional, nothing resolved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::language_servers::ServersSetting;
use crate::config::mode::Mode;
use crate::config::permission_rules::PermissionLists;
use crate::config::settings::{Notify, Permission, Profile, ProviderKind, ToolCalls, WebSearchSetting};
use crate::config::theme::ThemeName;
use crate::sanitize;
use crate::search::fuzzy;
use crate::text::one_line;

/// One source's values. Unknown keys are rejected to catch typos.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    pub provider: Option<ProviderKind>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub api_key_env: Option<String>,
    pub api_key_command: Option<String>,
    pub script: Option<PathBuf>,
    pub headers: Option<BTreeMap<String, String>>,
    pub light_model: Option<String>,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub reasoning_effort: Option<String>,
    pub verbosity: Option<String>,
    pub tool_calls: Option<ToolCalls>,
    pub idle_timeout_s: Option<u64>,
    pub answer_timeout_s: Option<u64>,
    pub max_tries: Option<u32>,
    pub wait_s: Option<u64>,
    pub context_window: Option<u64>,
    pub compression_threshold: Option<f64>,
    pub low_water: Option<f64>,
    pub min_retain_rounds: Option<usize>,
    pub summary_timeout_s: Option<u64>,
    pub profile: Option<Profile>,
    pub cached_price: Option<f64>,
    pub permission: Option<Permission>,
    pub mode: Option<Mode>,
    pub sandbox: Option<bool>,
    pub max_steps: Option<u32>,
    pub nudges: Option<bool>,
    pub keep_services: Option<bool>,
    pub patch_tool: Option<bool>,
    pub inject_notes: Option<bool>,
    pub note_min_relevance: Option<f64>,
    pub note_max_tokens: Option<u64>,
    pub task_context: Option<bool>,
    pub task_context_wait_ms: Option<u64>,
    pub web_search: Option<WebSearchSetting>,
    pub web_private_hosts: Option<Vec<String>>,
    pub language_servers: Option<ServersSetting>,
    pub theme: Option<ThemeName>,
    pub vim: Option<bool>,
    pub mouse: Option<bool>,
    pub notify: Option<Notify>,
    pub permissions: Option<PermissionLists>,
    /// Parsed by `keys.rs`, from the user's own file only.
    pub keys: Option<toml::Table>,
}

/// Allowed in an untrusted project. Other keys could redirect prompts or costs, loosen rules, or cripple the agent.
pub const PROJECT_KEYS: &[&str] = &["inject_notes", "task_context"];

const NO_TABLE: &str = "[provider] is a table in other programs; here write provider = \"openai\", and model, base_url and api_key_env in lines of their own";
const MAX_SHOWN: usize = 300;
const LISTS: [&str; 3] = ["allow", "ask", "deny"];

#[derive(Debug)]
pub struct ProjectConfig {
    pub raw: Raw,
    pub personal: Vec<String>,
    pub unknown: Vec<String>,
    /// Unknown keys that seem to deny something, and so are applied.
    pub held: Vec<String>,
}

/// Explains the error, with the nearest name for an unknown key.
pub fn explained(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let Some((before, expected)) = text.split_once(", expected one of ") else { return text };
    let wanted = before.rsplit('`').nth(1).unwrap_or_default();
    match fuzzy::nearest_name(wanted, expected.split('`').skip(1).step_by(2)) {
        Some(near) => format!("{before}; did you mean `{near}`?\n"),
        None => text,
    }
}

impl Raw {
    pub fn parse(text: &str) -> Result<Self, String> {
        let as_table = text.lines().any(|line| line.trim() == "[provider]");
        toml::from_str(text).map_err(|error| if as_table { NO_TABLE.to_owned() } else { explained(&error) })
    }

    /// Parses a project's file. Personal keys count only if it is trusted; denials and questions always do.
    pub fn parse_project(text: &str, trusted: bool) -> Result<ProjectConfig, String> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())?;
        let (unknown, held) = without_slips(&mut table);
        // Report wrong types before anything is removed.
        let all: Self = table.clone().try_into().map_err(|error| explained(&error))?;
        let is_personal = |key: &str, value: &toml::Value| match key {
            "permissions" => {
                value.get("allow").and_then(toml::Value::as_array).is_some_and(|list| !list.is_empty())
            }
            key => !PROJECT_KEYS.contains(&key),
        };
        let shown = table.iter().filter(|(key, value)| is_personal(key, value)).map(|(key, value)| {
            let value = if key == "permissions" { &value["allow"] } else { value };
            let key = if key == "permissions" { "permissions.allow" } else { key };
            let value = serde_json::to_string(value).unwrap_or_default();
            format!("{key} = {}", one_line(&sanitize::reveal(&value), MAX_SHOWN))
        });
        let personal = shown.collect();
        if trusted {
            return Ok(ProjectConfig { raw: all, personal, unknown, held });
        }
        let permissions = all.permissions.map(|lists| PermissionLists { allow: Vec::new(), ..lists });
        table.retain(|key, _| PROJECT_KEYS.contains(&key));
        let raw: Self = table.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        Ok(ProjectConfig { raw: Self { permissions, ..raw }, personal, unknown, held })
    }

    /// The denials and questions in a project's file whose other parts are wrong.
    pub fn forbidding(text: &str) -> Option<Self> {
        let mut table: toml::Table = toml::from_str(text).ok()?;
        without_slips(&mut table);
        let list = |name: &str| table.get("permissions")?.get(name)?.clone().try_into().ok();
        let (ask, deny) = (list("ask").unwrap_or_default(), list("deny").unwrap_or_default());
        let lists = PermissionLists { ask, deny, allow: Vec::new() };
        (lists != PermissionLists::default()).then(|| Self { permissions: Some(lists), ..Self::default() })
    }

    /// Values are TOML scalars; anything else, or with a type other than the key's, is taken as a string.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let keys = serde_json::to_value(Self::default()).unwrap_or_default();
        let keys = keys.as_object().into_iter().flat_map(|keys| keys.keys());
        let mut table = toml::Table::new();
        for key in keys.filter(|key| !matches!(key.as_str(), "headers" | "keys" | "permissions")) {
            let name = format!("MYCODE_{}", key.to_ascii_uppercase());
            let Some(text) = var(&name).filter(|text| !text.is_empty()) else { continue };
            let fits = |value: &toml::Value| {
                toml::Table::from_iter([(key.clone(), value.clone())]).try_into::<Self>().map(drop)
            };
            let string = toml::Value::String(text.clone());
            let scalar = text.parse().ok().filter(|value| !matches!(value, toml::Value::String(_)));
            let value =
                scalar.filter(|value| fits(value).is_ok() || fits(&string).is_err()).unwrap_or(string);
            fits(&value).map_err(|error| format!("invalid {name}: {}", error.message()))?;
            table.insert(key.clone(), value);
        }
        table.try_into().map_err(|error: toml::de::Error| error.to_string())
    }

    /// `self` with missing values from `lower`.
    #[must_use]
    pub fn over(self, mut lower: Self) -> Self {
        // A key must not be sent to another vendor's host. An address without a provider may use any dialect.
        let theirs = match lower.provider {
            None if lower.base_url.is_some() => self.provider,
            kind => Some(kind.unwrap_or(ProviderKind::Openai)),
        };
        if self.provider.zip(theirs).is_some_and(|(mine, theirs)| !mine.same_vendor(theirs)) {
            (lower.base_url, lower.api_key_env, lower.headers, lower.model) = (None, None, None, None);
            lower.api_key_command = None;
        }
        let (mine, joined) = (serde_json::to_value(&self), serde_json::to_value(&lower));
        let (Ok(Value::Object(mine)), Ok(Value::Object(mut joined))) = (mine, joined) else { return self };
        joined.extend(mine.into_iter().filter(|(_, value)| !value.is_null()));
        serde_json::from_value(Value::Object(joined)).unwrap_or(self)
    }
}

/// Removes unknown keys: returns the ignored ones, and the lists that seem to deny something, which join the denials.
fn without_slips(table: &mut toml::Table) -> (Vec<String>, Vec<String>) {
    let known = serde_json::to_value(Raw::default()).unwrap_or_default();
    let (mut ignored, mut held, mut denied) = (Vec::new(), Vec::new(), Vec::new());
    let mut slip = |name: String, list: &str, value: toml::Value| match value {
        toml::Value::Array(rules) if fuzzy::nearest_name(list, LISTS) == Some("deny") => {
            denied.extend(rules);
            held.push(name);
        }
        _ => ignored.push(name),
    };
    let mut permissions = toml::Table::new();
    for (key, value) in std::mem::take(table) {
        let is_known = known.get(&key).is_some();
        match value {
            toml::Value::Table(lists) if !is_known || key == "permission" || key == "permissions" => {
                for (list, value) in lists {
                    if key == "permissions" && LISTS.contains(&&*list) {
                        permissions.insert(list, value);
                    } else {
                        slip(format!("{key}.{list}"), &list, value);
                    }
                }
            }
            value if is_known => drop(table.insert(key, value)),
            value => slip(key.clone(), &key, value),
        }
    }
    if !denied.is_empty()
        && let toml::Value::Array(deny) =
            permissions.entry("deny").or_insert_with(|| Vec::<String>::new().into())
    {
        deny.extend(denied);
    }
    if !permissions.is_empty() {
        table.entry("permissions").or_insert(permissions.into());
    }
    (ignored, held)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_typed() {
        let raw = Raw::from_vars(|name| match name {
            "MYCODE_CONTEXT_WINDOW" => Some("8192".to_owned()),
            "MYCODE_MODEL" => Some("4o".to_owned()),
            "MYCODE_PERMISSION" => Some("read-only".to_owned()),
            _ => None,
        })
        .unwrap();
        assert_eq!(raw.context_window, Some(8192));
        assert_eq!(raw.model.as_deref(), Some("4o"));
        assert_eq!(raw.permission, Some(Permission::ReadOnly));
        let error =
            Raw::from_vars(|name| (name == "MYCODE_MAX_STEPS").then(|| "many".to_owned())).unwrap_err();
        assert!(error.starts_with("invalid MYCODE_MAX_STEPS"), "{error}");
    }

    #[test]
    fn an_untrusted_project_sets_two_harmless_keys() {
        let text = "base_url = \"http://evil\"\npermission = \"full\"\nlow_water = 0.01\nmax_steps = 1\n\
                    reasoning_effort = \"high\"\nverbosity = \"high\"\nmax_output_tokens = 9\nmax_tries = 99\n\
                    context_window = 2000\ntemperature = 99.0\nmin_retain_rounds = 9000\nsummary_timeout_s = 0\n\
                    task_context_wait_ms = 900000\ncompression_threshold = 0.01\ncached_price = 1.0\n\
                    profile = \"high\"\ninject_notes = false\ntask_context = false";
        let ProjectConfig { raw, personal: refused, .. } = Raw::parse_project(text, false).unwrap();
        let harmless = Raw { inject_notes: Some(false), task_context: Some(false), ..Raw::default() };
        assert_eq!(serde_json::to_value(&raw).unwrap(), serde_json::to_value(harmless).unwrap());
        assert!(refused.contains(&"base_url = \"http://evil\"".to_owned()), "{refused:?}");
        assert_eq!(refused.len(), 16);
        let trusted = Raw::parse_project("base_url = \"http://ours\"", true).unwrap();
        assert_eq!(trusted.raw.base_url.as_deref(), Some("http://ours"));
        let lists = "max_stepz = 1\n[permissions]\nallow = [\"Bash\"]\ndeny = [\"Edit(a)\"]";
        let file = Raw::parse_project(lists, false).unwrap();
        assert_eq!(
            (file.unknown, file.personal),
            (vec!["max_stepz".into()], vec!["permissions.allow = [\"Bash\"]".into()])
        );
        let kept = file.raw.permissions.unwrap();
        assert_eq!((kept.allow, kept.deny), (Vec::new(), vec!["Edit(a)".to_owned()]));
        for (slips, unknown, held) in [
            ("[permissions]\ndenny = [\"Edit(a)\"]\nnote = \"x\"", "permissions.note", "permissions.denny"),
            ("[permisions]\ndeny = [\"Edit(a)\"]\nallow = [\"Bash\"]", "permisions.allow", "permisions.deny"),
            ("[permission]\nallow = [\"Bash\"]\ndeny = [\"Edit(a)\"]", "permission.allow", "permission.deny"),
            ("deny = [\"Edit(a)\"]\nallow = [\"Bash\"]\n", "allow", "deny"),
        ] {
            let file = Raw::parse_project(slips, false).unwrap();
            assert_eq!(file.raw.permissions.unwrap().deny, ["Edit(a)"], "{slips}");
            assert_eq!((file.unknown, file.held), (vec![unknown.into()], vec![held.into()]));
        }
        let wrong = "max_steps = \"x\"\n[permissions]\nallow = [\"Bash\"]\ndeny = [\"Edit(a)\"]";
        assert!(Raw::parse_project(wrong, false).is_err());
        let kept = Raw::forbidding(wrong).unwrap().permissions.unwrap();
        assert_eq!((kept.allow, kept.deny), (Vec::new(), vec!["Edit(a)".to_owned()]));
    }

    #[test]
    fn provider_switch_drops_address() {
        let user =
            Raw::parse("provider = \"openai\"\nbase_url = \"https://router/v1\"\nmax_steps = 3").unwrap();
        let flags = |text: &str| Raw::parse(text).unwrap().over(user.clone());
        assert_eq!(flags("provider = \"anthropic\"").base_url, None);
        assert_eq!(flags("provider = \"anthropic\"").max_steps, Some(3));
        for dialect in ["openai", "chat", "responses"] {
            let joined = flags(&format!("provider = \"{dialect}\""));
            assert_eq!(
                joined.base_url.as_deref(),
                Some("https://router/v1"),
                "{dialect} is the same vendor's"
            );
        }
        let own = Raw::parse("base_url = \"http://localhost:1234\"\nmodel = \"m\"").unwrap();
        let joined = Raw::parse("provider = \"anthropic\"").unwrap().over(own);
        assert_eq!(
            joined.base_url.as_deref(),
            Some("http://localhost:1234"),
            "the user's server is not replaced"
        );
        assert_eq!(joined.model.as_deref(), Some("m"));
    }

    #[test]
    fn shipped_config_and_unknown_keys() {
        Raw::parse(include_str!("../../../../config.toml")).unwrap();
        let error = Raw::parse("max_stepz = 3").unwrap_err();
        assert!(error.contains("unknown field `max_stepz`; did you mean `max_steps`?"), "{error}");
        assert_eq!(Raw::parse("[provider]\nname = \"openai\"").unwrap_err(), NO_TABLE);
    }
}
