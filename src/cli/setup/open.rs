//! From arguments to a running agent: workspace, configuration, provider, session. Shared by every subcommand that
//! needs one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::build::Setup;
use crate::base::file;
use crate::cli::args::{Cli, ModelArgs};
use crate::cli::report::Failure;
use crate::config::load::{self, Loaded, Sources};
use crate::config::paths::Paths;
use crate::config::raw::Raw;
use crate::config::settings::{Origin, Permission};
use crate::provider::api::Provider;
use crate::provider::registry;
use crate::provider::unconfigured::{self, Unconfigured};
use crate::provider::window::finder::{LearningProvider, WindowFinder};
use crate::provider::window::probe;
use crate::session::list;
use crate::session::stored;

/// Where the program works and what it was told.
pub struct Opened {
    pub loaded: Loaded,
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    /// Where our configuration, sessions and rules lie.
    pub paths: Paths,
}

impl Opened {
    /// Our own folders, which no command may see.
    pub fn own_folders(&self) -> Vec<PathBuf> {
        vec![self.paths.config.clone(), self.paths.state.clone()]
    }
}

/// Which session to work in.
pub enum Which {
    New,
    Last,
    Id(String),
}

/// The folder to work in: the named one or the current one, links followed.
///
/// # Errors
/// When it is not there, or no folder.
pub fn workspace(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = folder.unwrap_or(Path::new("."));
    match folder.canonicalize() {
        Ok(workspace) if workspace.is_dir() => Ok(workspace),
        Ok(_) => Err(Failure::usage(format!("{} is not a folder", folder.display()), "name a folder")),
        Err(error) => Err(Failure::usage(
            format!("can't open {}: {error}", folder.display()),
            "change to a folder that exists, or name one with --cd",
        )),
    }
}

/// Reads the configuration.
///
/// # Errors
/// A folder that is not there, or settings that cannot be used.
pub fn open(model: &ModelArgs, default_permission: Permission) -> Result<Opened, Failure> {
    let workspace = workspace(model.folder.as_deref())?;
    let paths = Paths::from_env();
    let flags = Raw {
        provider: model.provider,
        model: model.model.clone(),
        base_url: model.base_url.clone(),
        script: model.script.clone(),
        context_window: model.context_window,
        headers: load::header_table(&model.header)?,
        permission: model.permission,
        mode: model.mode,
        max_steps: model.max_steps,
        ..Raw::default()
    };
    let loaded = load::load(Sources {
        flags,
        vars: &|name| std::env::var(name).ok(),
        paths: &paths,
        workspace: &workspace,
        trust: model.trust,
        default_permission,
    })?;
    file::make_private(&paths.state);
    let project_state = paths.project(&workspace);
    Ok(Opened { loaded, workspace, project_state, paths })
}

/// The session's log, or `None` for a new session.
///
/// # Errors
/// When there is no such session.
pub fn session(project_state: &Path, which: &Which) -> Result<Option<PathBuf>, Failure> {
    match which {
        Which::New => Ok(None),
        Which::Last => last(project_state).map(Some),
        Which::Id(id) => list::find(project_state, id).map(Some).map_err(no_session),
    }
}

/// That there is no such session.
pub fn no_session(message: String) -> Failure {
    Failure::usage(message, "`mycode sessions` lists all sessions")
}

/// The log of the last session.
///
/// # Errors
/// When there is none.
pub fn last(project_state: &Path) -> Result<PathBuf, Failure> {
    list::last(project_state)
        .ok_or_else(|| Failure::usage("this project has no sessions yet", "start one with `mycode`"))
}

/// Everything an agent needs. Where nothing is configured, local servers are asked; with none of them an interactive
/// agent still opens and says what to do.
///
/// # Errors
/// Settings or a session that cannot be used.
pub async fn setup(cli: &Cli, interactive: bool, which: &Which) -> Result<Setup, Failure> {
    let default_permission = if interactive { Permission::Ask } else { Permission::Auto };
    let opened = open(&cli.model, default_permission)?;
    let own_folders = opened.own_folders();
    let Opened { mut loaded, workspace, project_state, .. } = opened;
    if let Some(error) = loaded.provider_error.take() {
        return Err(error.into());
    }
    let mut resume = session(&project_state, which)?;
    if let Some(log) = resume.as_mut().filter(|_| cli.fork) {
        *log = stored::fork(&project_state, &workspace, log)?;
    }
    let provider: Arc<dyn Provider> = match &loaded.provider {
        Some(settings) => registry::build(settings)?,
        None => match probe::find_local().await {
            Some(server) => {
                let model = server.models.first().cloned().unwrap_or_default();
                let settings = loaded.local_provider(server.base_url.clone(), &model);
                loaded
                    .notices
                    .push(format!("Using {} at {} ({}).", server.name, server.base_url, settings.model));
                loaded.context = loaded.context_for(&settings.model, None)?;
                let provider = registry::build(&settings)?;
                loaded.provider = Some(settings);
                provider
            }
            None if interactive => {
                loaded.notices.push(format!("No model is configured yet: {}.", unconfigured::ADVICE));
                Arc::new(Unconfigured)
            }
            None => {
                return Err(Failure::config("no model is configured", unconfigured::ADVICE));
            }
        },
    };
    let finder = WindowFinder::new(&loaded.servers);
    if loaded.context.window_origin != Origin::User
        && let Some(settings) = &loaded.provider
    {
        let found = finder.find(settings).await;
        loaded.context = loaded.context_for(&settings.model, found.learned())?;
        loaded.notices.extend(found.advice);
    }
    let provider = match &loaded.provider {
        Some(settings) => LearningProvider::wrap(provider, finder, settings),
        None => provider,
    };
    let model = loaded.provider.as_ref().map_or_else(|| Arc::from("no model"), |s| Arc::clone(&s.model));
    Ok(Setup {
        loaded,
        provider,
        model,
        workspace,
        project_state,
        own_folders,
        interactive,
        resume,
        rules: Default::default(),
        max_cost: None,
        editor: None,
    })
}
