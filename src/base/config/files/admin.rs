//! The administrator's file: settings and rules for everyone on this machine, and a list `locked` of keys that nobody can
//! loosen by a file, a variable or a flag.

use std::path::Path;

use serde_json::Value;

use super::raw::{self, Raw};
use crate::config::error::{ConfigError, bad};
use crate::config::provider::vendors::VENDORS;
use crate::config::settings::Permission;
use crate::search::fuzzy;
use crate::text::one_line;

const FILE: &str = "/etc/mycode/config.toml";
/// Names an additional file, for images and trials. Locks of the first file remain.
const VARIABLE: &str = "MYCODE_ADMIN_CONFIG";
const MAX_SHOWN: usize = 120;

#[derive(Clone, Debug)]
pub struct AdminFile {
    pub place: String,
    pub raw: Raw,
    locked: Vec<String>,
}

/// The machine's file, then the one named by the variable.
#[derive(Clone, Debug, Default)]
pub struct AdminFiles(pub Vec<AdminFile>);

impl AdminFile {
    fn parse(place: String, text: &str) -> Result<Self, String> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())?;
        let locked = table.remove("locked").unwrap_or(toml::Value::Array(Vec::new()));
        let mut locked: Vec<String> = locked
            .try_into()
            .map_err(|_| "`locked` is a list of keys, such as [\"permission\"]".to_owned())?;
        let known = serde_json::to_value(Raw::default()).unwrap_or_default();
        if let Some(typo) = locked.iter().find(|key| known.get(key.as_str()).is_none()) {
            let keys = known.as_object().into_iter().flat_map(|keys| keys.keys().map(String::as_str));
            let near = fuzzy::nearest_name(typo, keys);
            let meant = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            return Err(format!("`locked` names '{typo}', but there is no such setting{meant}"));
        }
        // An address belongs to its vendor, and another vendor would bring its own.
        if locked.iter().any(|key| key == "provider" || key == "base_url") {
            locked.extend(["provider".to_owned(), "base_url".to_owned()]);
        }
        if locked.iter().any(|key| key == "model") {
            locked.push("light_model".to_owned());
        }
        let raw: Raw = table.try_into().map_err(|error| raw::explained(&error))?;
        Ok(Self { place, raw, locked })
    }
}

impl AdminFiles {
    /// `read` returns the text of a file that exists.
    pub fn read(
        var: &dyn Fn(&str) -> Option<String>,
        read: impl Fn(&Path) -> Result<Option<String>, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let places = std::iter::once(FILE.to_owned()).chain(var(VARIABLE).filter(|path| !path.is_empty()));
        let mut files = Vec::new();
        for place in places {
            let Some(text) = read(Path::new(&place))? else { continue };
            files.push(AdminFile::parse(place.clone(), &text).map_err(|what| {
                bad(
                    format!("the administrator's file {place} is not a valid configuration: {what}"),
                    "ask whoever manages this machine to correct it; nothing runs without it",
                )
            })?);
        }
        Ok(Self(files))
    }

    pub fn lock(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|file| file.locked.iter().any(|name| name == key)).map(|file| file.place.as_str())
    }

    /// Whether allowances from this source count, even if only the administrator's do.
    pub fn allows(&self, place: &str) -> bool {
        let first = self.0.iter().position(|file| file.locked.iter().any(|key| key == "permissions"));
        self.0.iter().position(|file| file.place == place).is_some_and(|at| Some(at) <= first)
    }

    pub fn most_permission(&self, default: Permission) -> Permission {
        let locked = self.0.iter().filter(|file| file.locked.iter().any(|name| name == "permission"));
        let levels = locked.map(|file| file.raw.permission.unwrap_or(default));
        levels.min().unwrap_or(Permission::Full)
    }

    /// A source's settings without those that would loosen a locked key; adds a notice about them.
    pub fn held(&self, raw: Raw, from: &str, notices: &mut Vec<String>) -> Raw {
        let Ok(Value::Object(mut theirs)) = serde_json::to_value(&raw) else { return raw };
        for file in &self.0 {
            let ours = serde_json::to_value(&file.raw).unwrap_or_default();
            for key in &file.locked {
                // Rules are merged, not replaced; `rules` drops those that don't count.
                let Some(value) =
                    theirs.get_mut(key).filter(|value| !value.is_null() && key != "permissions")
                else {
                    continue;
                };
                if *value == ours[key] || is_stricter(key, value, &ours[key]) {
                    continue;
                }
                let shown = one_line(&value.to_string(), MAX_SHOWN);
                notices.push(format!(
                    "{from}: {key} = {shown} isn't used, because {} locks this setting.",
                    file.place
                ));
                *value = Value::Null;
            }
        }
        serde_json::from_value(Value::Object(theirs)).unwrap_or_default()
    }

    /// The variable, unless it would redirect from a locked server to another.
    pub fn variable(&self, name: &str, var: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let leads = VENDORS.iter().any(|vendor| vendor.address_var == name);
        var(name).filter(|_| !leads || self.lock("base_url").is_none())
    }
}

fn is_stricter(key: &str, theirs: &Value, ours: &Value) -> bool {
    match key {
        "permission" => {
            let level = |value: &Value| value.as_str().and_then(|name| name.parse::<Permission>().ok());
            level(theirs).zip(level(ours)).is_some_and(|(theirs, ours)| theirs < ours)
        }
        "sandbox" => *theirs == true,
        "max_steps" => theirs.as_u64() < ours.as_u64(),
        _ => false,
    }
}
