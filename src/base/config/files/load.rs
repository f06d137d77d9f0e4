//! Merges all configuration sources into validated sections. First wins: flags, `MYCODE_*`, the project's
//! file, the user's file, the administrator's, then `OPENAI_*` / `ANTHROPIC_*` variables, then the compiled-in
//! `config.toml`. No source can loosen what the administrator locks. Opens no network; a missing configuration
//! (`provider: None`) isn't an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::admin::AdminFiles;
use super::raw::Raw;
use super::source::{self, SettingSource};
use crate::config::error::{ConfigError, bad};
use crate::config::language_servers::ServersSetting;
use crate::config::paths::Paths;
use crate::config::permission_rules::{self, PermissionLists, RuleSource};
use crate::config::provider::vendors::{VENDORS, Var, Vendor};
use crate::config::provider::{models, provider_section};
use crate::config::settings::{
    ContextSettings, KeySource, MAX_WINDOW_TOKENS, MIN_WINDOW_TOKENS, NoteLimits, Origin, Permission,
    ProviderKind, ProviderSettings, ScreenSettings, WebSearchSetting, WebSettings, WorkSettings,
};
use crate::config::trusted::own_files::OwnFiles;
use crate::config::trusted::{active, project_file};
use crate::secret::Secret;

const DEFAULTS: &str = include_str!("../../../../config.toml");

#[derive(Clone, Debug)]
pub struct Loaded {
    /// `None` if no provider, key or address is configured.
    pub provider: Option<ProviderSettings>,
    /// An error in the model settings; matters only if a model is needed.
    pub provider_error: Option<ConfigError>,
    /// Other vendors with keys, which a model's name can select.
    pub vendors: Vec<(&'static Vendor, ProviderSettings)>,
    pub context: ContextSettings,
    pub work: WorkSettings,
    pub web: WebSettings,
    pub screen: ScreenSettings,
    pub language_servers: Option<ServersSetting>,
    /// User definitions such as sub-agents; the project's only if trusted.
    pub own: OwnFiles,
    pub rules: Vec<RuleSource>,
    pub admin: AdminFiles,
    pub origins: Vec<SettingSource>,
    pub notices: Vec<String>,
    pub model_flag: bool,
    /// No model was configured, so it is the vendor's default.
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
    /// Trust the project's own file in this run.
    pub trust: bool,
    /// Mistakes in the user's files are only reported.
    pub skip_user_files: bool,
    /// Used if nothing is set: `ask` in the terminal, `auto` in exec.
    pub default_permission: Permission,
}

pub fn load(sources: Sources<'_>) -> Result<Loaded, ConfigError> {
    let mut notices = Vec::new();
    let model_flag = sources.flags.model.is_some();
    let vars = Raw::from_vars(sources.vars).map_err(|what| {
        bad(what, "correct or unset the variable; `mycode doctor --config` describes all settings")
    })?;
    let (project, told) = project_file::read(sources.workspace, sources.paths, sources.trust)?;
    notices.extend(told);
    let user_path = sources.paths.user_config();
    let (user, keys) = if sources.skip_user_files { Default::default() } else { source::user(&user_path)? };
    let defaults =
        Raw::parse(DEFAULTS).map_err(|what| bad(what, "this is a bug in mycode; please report it"))?;
    let admin = AdminFiles::read(sources.vars, source::text)?;
    let var: Var<'_> = &|name| admin.variable(name, sources.vars);
    let (user_place, project_place) =
        (user_path.display().to_string(), project_file::place(sources.workspace));
    let mut rules = Vec::new();
    let mut add = |place: &str, lists: Option<PermissionLists>| {
        let place = place.to_owned();
        rules.extend(lists.map(|lists| RuleSource { place, lists, ..RuleSource::default() }));
    };
    admin.0.iter().for_each(|file| add(&file.place, file.raw.permissions.clone()));
    add(&user_place, user.permissions.clone());
    add(&project_place, project.permissions.clone());
    if !sources.skip_user_files {
        rules.extend(source::answers(&sources.paths.project(sources.workspace))?);
    }
    let configured = user.base_url.clone().or(project.base_url.clone());
    let given = [
        ("the command line".to_owned(), sources.flags),
        ("a MYCODE_… variable".to_owned(), vars),
        (project_place, project),
        (user_place, user),
    ];
    let mut given: Vec<(String, Raw)> = given
        .into_iter()
        .map(|(place, raw)| {
            let held = admin.held(raw, &place, &mut notices);
            (place, held)
        })
        .collect();
    given.extend(admin.0.iter().map(|file| (file.place.clone(), file.raw.clone())));
    let origins = source::settings(&given);
    let raw = given.into_iter().map(|(_, raw)| raw).rev().fold(defaults, |lower, raw| raw.over(lower));
    if let (Some(url), None, Some(kind)) = (configured, &raw.base_url, raw.provider) {
        notices.push(format!(
            "base_url {url} belongs to another provider and isn't used with {}.",
            kind.into_str()
        ));
    }
    own_models(&sources.paths.config)?;
    let (provider, provider_error) = match provider_section::read(&raw, var, &sources.paths.servers()) {
        Ok(provider) => (provider, None),
        Err(error) => (None, Some(error)),
    };
    let vendors = others(&admin, &raw, var, provider.as_ref());
    let model = provider.as_ref().map_or("", |settings| &settings.model).to_owned();
    let context = context(&raw, &model, None)?;
    let mut work = WorkSettings {
        folders: Vec::new(),
        most_permission: admin.most_permission(sources.default_permission),
        permission: raw.permission.unwrap_or(sources.default_permission),
        mode: raw.mode.unwrap_or_default(),
        sandbox: raw.sandbox.unwrap_or(true),
        keep_services: raw.keep_services.unwrap_or(false),
        patch_tool: raw.patch_tool.unwrap_or(false),
        nudges: raw.nudges.unwrap_or(true),
        max_steps: raw.max_steps.unwrap_or(500).max(1),
        task_context: raw
            .task_context
            .unwrap_or(true)
            .then(|| std::time::Duration::from_millis(raw.task_context_wait_ms.unwrap_or(1_000))),
        light_model: raw.light_model.as_deref().map(Arc::from),
        inject_notes: raw.inject_notes.unwrap_or(true).then_some(NoteLimits {
            min_relevance: share("note_min_relevance", raw.note_min_relevance, 0.0)?,
            max_tokens: raw.note_max_tokens.unwrap_or(800),
        }),
    };
    let web = WebSettings {
        search: raw.web_search == Some(WebSearchSetting::Provider),
        private_hosts: raw.web_private_hosts.clone().unwrap_or_default(),
    };
    let screen = ScreenSettings {
        keys,
        vim: raw.vim.unwrap_or(false),
        mouse: raw.mouse.unwrap_or(false),
        notify: raw.notify.unwrap_or_default(),
        theme: raw.theme.unwrap_or_default(),
        folder: sources.paths.composer(),
        config: sources.paths.user_config(),
    };
    let named = |name: &str| var(name).is_some_and(|model| !model.trim().is_empty());
    let model_by_default =
        raw.model.is_none() && !named("OPENAI_MODEL") && !named("ANTHROPIC_MODEL") && provider.is_some();
    let Sources { paths, workspace, trust, .. } = sources;
    let (own, ignored) = active::load(paths, workspace, trust);
    notices.extend(ignored);
    rules.extend(permission_rules::of_others(workspace, &own.permissions));
    rules.extend(project_file::rules_around(workspace));
    let trusted = own.permissions.iter().filter_map(|file| serde_json::from_str(&file.text).ok());
    work.folders = trusted
        .flat_map(|one: serde_json::Value| permission_rules::claude_folders(&one, workspace))
        .collect();
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
        admin,
        origins,
        notices,
        model_flag,
        model_by_default,
        servers: paths.servers(),
        prompts: paths.prompts(),
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

    /// The vendors with keys, the current one first, if nothing says which is meant.
    pub fn undecided(&self) -> Vec<(&'static Vendor, &ProviderSettings)> {
        let Some(main) =
            self.provider.as_ref().filter(|_| self.model_by_default && self.raw.provider.is_none())
        else {
            return Vec::new();
        };
        let account = matches!(main.key_source, Some(KeySource::Account(_)));
        let own = |vendor: &&Vendor| vendor.default == *main.model && vendor.account.is_empty() != account;
        let mut all: Vec<(&'static Vendor, &ProviderSettings)> = Vec::new();
        all.extend(VENDORS.iter().find(own).map(|vendor| (vendor, main)));
        let others = self.vendors.iter().filter(|(vendor, _)| !vendor.default.is_empty());
        all.extend(others.map(|(vendor, made)| (*vendor, made)));
        if all.len() > 1 { all } else { Vec::new() }
    }

    /// Selects the provider again after keys changed. The current one stays as long as its key does.
    pub fn read_keys(&mut self, var: Var<'_>) -> Result<(), ConfigError> {
        let admin = self.admin.clone();
        let var: Var<'_> = &|name| admin.variable(name, var);
        let found = provider_section::read(&self.raw, var, &self.servers)?;
        let stays = self.provider.as_ref().is_some_and(|now| {
            let same_server = found.as_ref().is_some_and(|found| found.same_server(now));
            let mut keys = VENDORS.iter().filter_map(|vendor| vendor.key(var));
            let has_key = keys.any(|(_, key)| now.api_key == Some(Secret::new(&key)));
            !same_server && (now.api_key.is_none() || has_key)
        });
        if !stays {
            self.provider = found;
        }
        self.vendors = others(&admin, &self.raw, var, self.provider.as_ref());
        Ok(())
    }

    /// The context section for another model, or with a window learned from the server, and how it was learned.
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

/// Empty if the vendor is locked, because a model's name must not select another one.
fn others(
    admin: &AdminFiles,
    raw: &Raw,
    var: Var<'_>,
    chosen: Option<&ProviderSettings>,
) -> Vec<(&'static Vendor, ProviderSettings)> {
    let chosen = chosen.filter(|_| admin.lock("provider").is_none());
    provider_section::others(raw, var, chosen)
}

pub fn own_models(config: &Path) -> Result<(), ConfigError> {
    let own_models = config.join("models.toml");
    let Some(text) = source::text(&own_models)? else { return Ok(()) };
    models::take_own(&text).map_err(|what| {
        bad(
            format!("{} can't be used: {what}", own_models.display()),
            "each [[models]] needs a `name` or a `family`, and a `window` (or `like` another one)",
        )
    })
}

fn share(name: &str, value: Option<f64>, default: f64) -> Result<f64, ConfigError> {
    match value {
        None => Ok(default),
        Some(value) if value > 0.0 && value <= 1.0 => Ok(value),
        Some(value) => {
            Err(bad(format!("{name} = {value} is out of range"), "set it to a share between 0 and 1"))
        }
    }
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
    // A user who sets the window wants to use all of it.
    made.tier_tokens = made.tier_tokens.filter(|_| origin != Origin::User);
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

/// Parses flags such as `--header "X-Org: a"` into the file's table.
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
