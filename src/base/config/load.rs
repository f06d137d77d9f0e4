//! Joins all configuration sources into validated sections. First wins: flags, `MYCODE_*`, the project's
//! file, the user's file, then `OPENAI_*` / `ANTHROPIC_*` variables, then the compiled-in `config.toml`.
//! Opens no network; nothing configured is an answer (`provider: None`), not an error.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{ConfigError, bad};
use super::keys;
use super::language_servers::ServersSetting;
use super::models;
use super::paths::{self, Paths};
use super::permission_rules::{self, MACHINE_FILE, PermissionLists, RuleSource};
use super::provider_section;
use super::raw::{ProjectConfig, Raw};
use super::settings::{
    ContextSettings, MAX_WINDOW_TOKENS, MIN_WINDOW_TOKENS, Origin, Permission, ProviderKind,
    ProviderSettings, ScreenSettings, WebSearchSetting, WebSettings, WorkSettings,
};
use super::trusted::own_files::{self, OwnFiles};
use super::trusted::trust::Trust;
use super::vendors::{VENDORS, Var, Vendor};
use crate::file::{self, FileError};
use crate::path::{self, leads_out};
use crate::secret::Secret;

const DEFAULTS: &str = include_str!("../../../config.toml");
const MAX_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Loaded {
    /// `None` if no provider, key or address is configured anywhere.
    pub provider: Option<ProviderSettings>,
    /// An error in the model settings, which only matters if a model is needed.
    pub provider_error: Option<ConfigError>,
    /// Other vendors whose keys are set, which a model's name can choose.
    pub vendors: Vec<(&'static Vendor, ProviderSettings)>,
    pub context: ContextSettings,
    pub work: WorkSettings,
    pub web: WebSettings,
    pub screen: ScreenSettings,
    pub language_servers: Option<ServersSetting>,
    /// User definitions such as sub-agents; the project's only if it is trusted.
    pub own: OwnFiles,
    pub rules: Vec<RuleSource>,
    pub notices: Vec<String>,
    pub model_flag: bool,
    /// No model was named anywhere: it is the vendor's default.
    pub model_by_default: bool,
    /// Cache file for what servers report about themselves.
    pub servers: PathBuf,
    pub prompts: PathBuf,
    pub config: PathBuf,
    raw: Raw,
}

pub struct Sources<'a> {
    pub flags: Raw,
    pub vars: &'a dyn Fn(&str) -> Option<String>,
    pub paths: &'a Paths,
    pub workspace: &'a Path,
    /// The user trusts the project's own file for this run.
    pub trust: bool,
    /// Used if nothing is set: `ask` for the terminal, `auto` for exec.
    pub default_permission: Permission,
}

pub fn load(sources: Sources<'_>) -> Result<Loaded, ConfigError> {
    let mut notices = Vec::new();
    let model_flag = sources.flags.model.is_some();
    let vars = Raw::from_vars(sources.vars).map_err(|what| {
        bad(what, "correct or unset the variable; `mycode doctor --config` describes all settings")
    })?;
    let project_path = paths::project_config(sources.workspace);
    let project = match read_project(sources.workspace)? {
        None if leads_out(&project_path, sources.workspace) => {
            let path = project_path.display();
            notices.push(format!("Ignored {path}: it is a symlink out of the project."));
            Raw::default()
        }
        None => Raw::default(),
        Some(text) => {
            let trust = Trust::new(&sources.paths.project(sources.workspace));
            let trusted = sources.trust || trust.holds(&text);
            let ProjectConfig { raw, personal, unknown } = match Raw::parse_project(&text, trusted) {
                Ok(file) => file,
                // Someone else's file stops nothing here.
                Err(what) if !trusted => {
                    let path = project_path.display();
                    notices.push(format!(
                        "Ignored {path}: it is not a valid configuration: {}",
                        what.lines().next().unwrap_or_default()
                    ));
                    ProjectConfig { raw: Raw::default(), personal: Vec::new(), unknown: Vec::new() }
                }
                Err(what) => return Err(unparsable(&project_path, &what)),
            };
            if !unknown.is_empty() {
                let (path, keys) = (project_path.display(), unknown.join(", "));
                notices.push(format!("{path} sets {keys}, which this version doesn't know. Ignored."));
            }
            if !personal.is_empty() {
                let keys = personal.join(", ");
                let path = project_path.display();
                notices.push(if trusted {
                    format!("{path} is trusted and sets {keys}. `mycode trust --revoke` revokes the trust.")
                } else {
                    format!("{path} wants to set {keys}. Ignored, because it is not trusted; `mycode trust` trusts it.")
                });
            }
            let mut raw = raw;
            let own = [
                ("[keys]", raw.keys.is_some()),
                ("web_private_hosts", raw.web_private_hosts.take().is_some()),
                ("api_key_command", raw.api_key_command.take().is_some()),
                ("keep_services", raw.keep_services.take().is_some()),
                ("nudges", raw.nudges.take().is_some()),
            ];
            for (name, given) in own {
                if trusted && given {
                    notices.push(format!(
                        "{}: {name} only works in your own config file, {}.",
                        project_path.display(),
                        sources.paths.user_config().display()
                    ));
                }
            }
            raw
        }
    };
    let user_path = sources.paths.user_config();
    let (user, keys) = match read(&user_path)? {
        None => (Raw::default(), Vec::new()),
        Some(text) => Raw::parse(&text)
            .and_then(|raw| Ok((raw, keys::read(&text)?)))
            .map_err(|what| unparsable(&user_path, &what))?,
    };
    let defaults =
        Raw::parse(DEFAULTS).map_err(|what| bad(what, "this is a bug in mycode; please report it"))?;
    let mut rules = Vec::new();
    let mut add = |place: String, lists: Option<PermissionLists>| {
        rules.extend(lists.map(|lists| RuleSource { place, lists, foreign: false }));
    };
    let machine = Path::new(MACHINE_FILE);
    if let Some(text) = read(machine)? {
        let file = Raw::parse(&text).map_err(|what| unparsable(machine, &what))?;
        add(MACHINE_FILE.to_owned(), file.permissions);
    }
    add(user_path.display().to_string(), user.permissions.clone());
    add(path::display(sources.workspace, &project_path), project.permissions.clone());
    let configured = user.base_url.clone().or(project.base_url.clone());
    let raw = sources.flags.over(vars).over(project).over(user).over(defaults);
    if let (Some(url), None, Some(kind)) = (configured, &raw.base_url, raw.provider) {
        notices.push(format!(
            "base_url {url} belongs to another provider and isn't used with {}.",
            kind.into_str()
        ));
    }
    models::check().map_err(|what| {
        bad(
            format!("the shipped model table can't be read: {what}"),
            "this is a bug in mycode; please report it",
        )
    })?;
    let own_models = sources.paths.config.join("models.toml");
    if let Some(text) = read(&own_models)? {
        models::take_own(&text).map_err(|what| {
            bad(
                format!("{} can't be used: {what}", own_models.display()),
                "its rows have the form of src/config/models.toml in mycode's source",
            )
        })?;
    }
    let (provider, provider_error) =
        match provider_section::read(&raw, sources.vars, &sources.paths.servers()) {
            Ok(provider) => (provider, None),
            Err(error) => (None, Some(error)),
        };
    let vendors = provider_section::others(&raw, sources.vars, provider.as_ref());
    let model = provider.as_ref().map_or("", |settings| &settings.model).to_owned();
    let context = context(&raw, &model, None)?;
    let work = WorkSettings {
        folders: Vec::new(),
        permission: raw.permission.unwrap_or(sources.default_permission),
        mode: raw.mode.unwrap_or_default(),
        sandbox: raw.sandbox.unwrap_or(true),
        keep_services: raw.keep_services.unwrap_or(false),
        nudges: raw.nudges.unwrap_or(true),
        max_steps: raw.max_steps.unwrap_or(500).max(1),
        task_context: raw
            .task_context
            .unwrap_or(true)
            .then(|| std::time::Duration::from_millis(raw.task_context_wait_ms.unwrap_or(1_000))),
        light_model: raw.light_model.as_deref().map(Arc::from),
        inject_notes: raw.inject_notes.unwrap_or(true),
    };
    let web = WebSettings {
        search: raw.web_search == Some(WebSearchSetting::Provider),
        private_hosts: raw.web_private_hosts.clone().unwrap_or_default(),
    };
    let screen = ScreenSettings {
        keys,
        vim: raw.vim.unwrap_or(false),
        notify: raw.notify.unwrap_or_default(),
        theme: raw.theme.unwrap_or_default(),
        folder: sources.paths.composer(),
        config: sources.paths.user_config(),
    };
    let named = |name: &str| (sources.vars)(name).is_some_and(|model| !model.trim().is_empty());
    let model_by_default =
        raw.model.is_none() && !named("OPENAI_MODEL") && !named("ANTHROPIC_MODEL") && provider.is_some();
    let (servers, prompts) = (sources.paths.servers(), sources.paths.prompts());
    let Sources { paths, workspace, trust, .. } = sources;
    let (own, ignored) = own_files::load(&paths.config, workspace, &paths.project(workspace), trust);
    notices.extend(ignored);
    rules.extend(permission_rules::of_claude(workspace, &own.permissions));
    Ok(Loaded {
        provider,
        provider_error,
        vendors,
        context,
        work,
        web,
        screen,
        language_servers: raw.language_servers.clone(),
        own,
        rules,
        notices,
        model_flag,
        model_by_default,
        servers,
        prompts,
        config: paths.config.clone(),
        raw,
    })
}

impl Loaded {
    /// All keys that may be sent, for redaction.
    pub fn keys(&self) -> impl Iterator<Item = &Secret> {
        let others = self.vendors.iter().map(|(_, settings)| settings);
        self.provider.iter().chain(others).filter_map(|settings| settings.api_key.as_ref())
    }

    /// Chooses the provider anew, as keys changed. What is in use stays while its key does.
    pub fn read_keys(&mut self, var: Var<'_>) -> Result<(), ConfigError> {
        let found = provider_section::read(&self.raw, var, &self.servers)?;
        let stays = self.provider.as_ref().is_some_and(|now| {
            let same_server = found.as_ref().is_some_and(|found| found.base_url == now.base_url);
            let mut keys = VENDORS.iter().filter_map(|vendor| vendor.key(var));
            let has_key = keys.any(|(_, key)| now.api_key == Some(Secret::new(&key)));
            !same_server && (now.api_key.is_none() || has_key)
        });
        if !stays {
            self.provider = found;
        }
        self.vendors = provider_section::others(&self.raw, var, self.provider.as_ref());
        Ok(())
    }

    /// The context section for another model, or with a window size learned from the server, and how.
    pub fn context_for(
        &self,
        model: &str,
        learned: Option<(u64, Origin)>,
    ) -> Result<ContextSettings, ConfigError> {
        context(&self.raw, model, learned)
    }

    pub fn provider_for(&self, model: &str) -> Option<ProviderSettings> {
        let main = self.provider.as_ref()?;
        let other = (*main.model != *model).then(|| provider_section::chosen(model, &self.vendors)).flatten();
        Some(other.unwrap_or_else(|| ProviderSettings { model: model.into(), ..main.clone() }))
    }

    pub fn local_provider(&self, base_url: String, model: &str) -> ProviderSettings {
        let model = self.raw.model.as_deref().unwrap_or(model);
        let made = provider_section::settings(&self.raw, ProviderKind::Openai, base_url, None, model);
        ProviderSettings { servers: Some(self.servers.clone()), ..made }
    }
}

/// What the project's own file would set if trusted, with its text; `None` without such a file.
pub fn project_wishes(workspace: &Path) -> Result<Option<(String, Vec<String>)>, ConfigError> {
    let path = paths::project_config(workspace);
    let Some(text) = read_project(workspace)? else { return Ok(None) };
    let file = Raw::parse_project(&text, false).map_err(|what| unparsable(&path, &what))?;
    Ok(Some((text, file.personal)))
}

/// Returns nothing if a link leads outside the project: even an error message about a text would reveal it.
fn read_project(workspace: &Path) -> Result<Option<String>, ConfigError> {
    let path = paths::project_config(workspace);
    if leads_out(&path, workspace) { Ok(None) } else { read(&path) }
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let refused = |why: &str| {
        bad(
            format!("{} can't be read ({why})", path.display()),
            "make the file readable UTF-8 text, or move it away",
        )
    };
    // A checkout may have a link to a device under this name: the size is limited, and only a file is read.
    match file::read(path, MAX_FILE_BYTES) {
        Ok((bytes, _)) => String::from_utf8(bytes).map(Some).map_err(|_| refused("not UTF-8 text")),
        Err(FileError::NotFound) => Ok(None),
        Err(_) if path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(refused(&error.to_string())),
    }
}

fn unparsable(path: &Path, what: &str) -> ConfigError {
    bad(
        format!("{} is not a valid configuration:\n{what}", path.display()),
        "`mycode doctor --config` prints an annotated example",
    )
}

fn context(raw: &Raw, model: &str, learned: Option<(u64, Origin)>) -> Result<ContextSettings, ConfigError> {
    let (window, origin) = match (raw.context_window, learned, models::facts(model)) {
        (Some(window), ..) => (window, Origin::User),
        // An error can only reveal a smaller window.
        (None, Some((window, Origin::Error)), Some(facts)) if window >= facts.prompt_window() => {
            (facts.prompt_window(), Origin::Table)
        }
        (None, Some(learned), _) => learned,
        (None, None, Some(facts)) => (facts.prompt_window(), Origin::Table),
        (None, None, None) => (models::DEFAULT_WINDOW, Origin::Default),
    };
    if window < MIN_WINDOW_TOKENS {
        return Err(bad(
            format!("context_window = {window} is too small"),
            format!("set it to {MIN_WINDOW_TOKENS} or more; for a local server, raise its own limit too"),
        ));
    }
    let mut made = ContextSettings::for_window(window.min(MAX_WINDOW_TOKENS), origin);
    if let Some(facts) = models::facts(model) {
        facts.inform(&mut made);
    }
    // A user who sets the window wants all of it.
    made.tier_tokens = made.tier_tokens.filter(|_| origin != Origin::User);
    let share = |name: &str, value: Option<f64>, default: f64| match value {
        None => Ok(default),
        Some(value) if value > 0.0 && value <= 1.0 => Ok(value),
        Some(value) => {
            Err(bad(format!("{name} = {value} is out of range"), "set it to a share between 0 and 1"))
        }
    };
    made.compression_threshold =
        share("compression_threshold", raw.compression_threshold, made.compression_threshold)?;
    made.low_water = share("low_water", raw.low_water, made.low_water)?.min(made.compression_threshold);
    if made.compression_threshold <= 0.5 {
        made.low_water = made.low_water.min(made.compression_threshold * 0.8);
    }
    made.cached_price = share("cached_price", raw.cached_price, made.cached_price)?;
    made.min_retain_rounds = raw.min_retain_rounds.unwrap_or(made.min_retain_rounds).max(2);
    made.summary_timeout_s = raw.summary_timeout_s.unwrap_or(made.summary_timeout_s);
    made.profile = raw.profile.unwrap_or_default();
    if let Some(limit) = raw.max_output_tokens {
        made.output_reserve_tokens = u64::from(limit).min(window / 2);
    }
    Ok(made)
}

/// Header names and values from flags such as `--header "X-Org: a"`, in the form of the file's table.
pub fn header_table(lines: &[String]) -> Result<Option<BTreeMap<String, String>>, ConfigError> {
    let mut table = BTreeMap::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            return Err(bad(format!("invalid header '{line}'"), "write it as --header \"Name: value\""));
        };
        table.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok((!table.is_empty()).then_some(table))
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
