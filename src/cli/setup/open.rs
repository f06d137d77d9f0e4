//! From arguments to workspace, configuration and session.

use std::path::{Path, PathBuf};

use crate::cli::args::ModelArgs;
use crate::cli::each::sessions;
use crate::cli::report::Failure;
use base::config::files::load::{self, Loaded, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::provider::saved_keys::SavedKeys;
use base::config::settings::Permission;
use base::file;
use context::replay::session_replay::SessionReplay;
use context::session::record::BegunWith;
use context::session::{list, reader};

pub struct OpenedProject {
    pub loaded: Loaded,
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub paths: Paths,
}

impl OpenedProject {
    pub fn own_folders(&self) -> Vec<PathBuf> {
        vec![self.paths.config.clone(), self.paths.state.clone()]
    }
}

pub const NONE_SET: &str = "(none set)";

pub enum SessionSelector {
    New,
    Last,
    /// A new one if there is none, as Claude Code and Codex do without their chat.
    LastOrNew,
    Id(String),
}

pub fn workspace(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let here = || {
        let failed = |error| {
            Failure::usage(
                format!("can't open the current folder: {error}"),
                "change to a folder that exists",
            )
        };
        Path::new(".").canonicalize().map_err(failed)
    };
    folder.map_or_else(here, canonical)
}

fn canonical(folder: &Path) -> Result<PathBuf, Failure> {
    match folder.canonicalize() {
        Ok(workspace) if workspace.is_dir() => Ok(workspace),
        Ok(_) => Err(Failure::usage(format!("{} is not a folder", folder.display()), "name a folder")),
        Err(error) => Err(Failure::usage(
            format!("can't open {}: {error}", folder.display()),
            "name a folder that exists",
        )),
    }
}

pub fn open(model: &ModelArgs, default_permission: Permission) -> Result<OpenedProject, Failure> {
    let workspace = workspace(model.folder.as_deref())?;
    let paths = Paths::from_env();
    let flags = Raw {
        provider: model.provider,
        model: model.model.clone(),
        base_url: model.base_url.clone(),
        api_key_env: model.api_key_env.clone(),
        wait_s: model.wait,
        script: model.script.clone(),
        context_window: model.context_window,
        headers: load::header_table(&model.header)?,
        permission: model.permission,
        mode: model.mode,
        max_steps: model.max_steps,
        reasoning_effort: model.effort.clone(),
        ..Raw::default()
    };
    let saved = SavedKeys::read(&paths.config)?;
    let mut loaded = load::load(Sources {
        flags,
        vars: &|name| saved.var(name),
        paths: &paths,
        workspace: &workspace,
        trust: model.trust,
        skip_user_files: model.skip_user_files,
        default_permission,
    })?;
    for folder in &model.add_dir {
        loaded.work.folders.push(canonical(folder)?);
    }
    if let Some(provider) = &mut loaded.provider {
        provider.wait_s = provider.wait_s.or(model.default_wait);
    }
    file::make_private(&paths.state);
    let project_state = paths.project(&workspace);
    Ok(OpenedProject { loaded, workspace, project_state, paths })
}

/// For a user who is looking for a model, so none has to be set.
pub fn any_model(args: &ModelArgs) -> Result<OpenedProject, Failure> {
    let opened = open(args, Permission::Ask)?;
    if opened.loaded.provider_error.is_none() || args.model.is_some() {
        return Ok(opened);
    }
    open(&ModelArgs { model: Some(NONE_SET.to_owned()), ..args.clone() }, Permission::Ask)
}

pub fn session(project_state: &Path, which: &SessionSelector) -> Result<Option<PathBuf>, Failure> {
    match which {
        SessionSelector::New => Ok(None),
        SessionSelector::Last => last(project_state).map(Some),
        SessionSelector::LastOrNew => Ok(list::last(project_state)),
        SessionSelector::Id(id) => list::find(project_state, id).map(Some).map_err(no_session),
    }
}

pub fn has_goal(log: &Path) -> bool {
    reader::read(log).is_ok_and(|read| SessionReplay::of(&read.records).history.goal().is_some())
}

/// Also finds the session of a batch's task by its id.
pub fn session_or_task(
    root: &Path,
    project_state: &Path,
    which: &SessionSelector,
) -> Result<Option<PathBuf>, Failure> {
    match (session(project_state, which), which) {
        (Err(unknown), SessionSelector::Id(id)) => sessions::find(root, id).map(Some).ok_or(unknown),
        (found, _) => found,
    }
}

pub fn no_session(message: String) -> Failure {
    Failure::usage(message, "`mycode sessions` lists all sessions")
}

pub fn last(project_state: &Path) -> Result<PathBuf, Failure> {
    list::last(project_state)
        .ok_or_else(|| Failure::usage("this project has no sessions yet", "start one with `mycode`"))
}

/// `wanted` is a file, or a session of the project in `folder` (its id or a prefix of it).
pub fn log_of(folder: Option<&Path>, wanted: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(file) = wanted.map(Path::new).filter(|path| path.is_file()) {
        return Ok(file.to_owned());
    }
    let root = workspace(folder)?;
    let project_state = Paths::from_env().project(&root);
    let Some(id) = wanted else { return last(&project_state) };
    list::find(&project_state, id).or_else(|message| {
        // It may be a sub-agent's or a batch task's session, or by its full id one of another folder.
        let elsewhere = || list::find(&list::project_of(&Paths::from_env().projects(), id)?, id).ok();
        sessions::find(&root, id).or_else(elsewhere).ok_or_else(|| no_session(message))
    })
}

pub fn begun(log: Option<&Path>) -> BegunWith {
    log.and_then(list::meta).map(|meta| meta.begun).unwrap_or_default()
}
