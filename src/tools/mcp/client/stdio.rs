//! Servers that are programs, sandboxed according to their profile.

use std::io;
use std::path::{Path, PathBuf};

use crate::mcp::config::server::ServerProfile;
use base::file;
use base::process::service::{self, Service, ServiceSpec};
use guard::sandbox::launch;
use guard::sandbox::session::{self, Sandbox};
use guard::sandbox::spec::{Confinement, RawPath, SandboxLevel};

use tokio::process::{ChildStdin, ChildStdout};

/// Cache folders of package runners. Each server has its own, so that none runs another's downloads.
const CACHES: [(&str, &str); 2] = [("npm_config_cache", "npm"), ("UV_CACHE_DIR", "uv")];

const XDG: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// Where tool chains and git look in the home folder, unless these variables are set.
const TOOLS: &str = include_str!("homes.txt");

/// With all variables expanded.
pub struct McpProgram {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub profile: Option<ServerProfile>,
    pub own_folder: PathBuf,
}

/// Blocks.
pub fn start(program: McpProgram, sandbox: &Sandbox) -> io::Result<(Service, ChildStdin, ChildStdout)> {
    let McpProgram { command, args, mut env, cwd, profile, own_folder } = program;
    let wrapper = match profile {
        None => launch::end_with_command(),
        Some(profile) => {
            let named = folders(&args, &cwd).chain(profile.folders.into_iter().map(|path| cwd.join(path)));
            let confinement = Confinement::Confined {
                level: SandboxLevel::Workspace,
                network: profile.network,
                opened: Vec::new(),
            };
            let Some(mut spec) = sandbox.spec(confinement, &cwd)? else {
                return Err(io::Error::other("it cannot be confined"));
            };
            file::create_private_folder(&own_folder)?;
            let own_folder = own_folder.canonicalize()?;
            for (variable, folder) in CACHES {
                if !env.iter().any(|(name, _)| name == variable) && std::env::var_os(variable).is_none() {
                    let folder = own_folder.join(folder);
                    file::create_private_folder(&folder)?;
                    env.push((variable.to_owned(), folder.to_string_lossy().into_owned()));
                }
            }
            env.extend(home(&own_folder, &env)?);
            let writable = named.filter_map(|path| path.canonicalize().ok()).chain([own_folder]);
            for path in writable.map(RawPath).filter(|path| path.is_dir()) {
                if !spec.writable.iter().any(|known| path.starts_with(known)) {
                    spec.writable.push(path);
                }
            }
            let named = std::iter::once(&command).chain(&args).map(PathBuf::from).chain([cwd.clone()]);
            for path in named.filter(|path| path.is_absolute() && path.exists()) {
                // A program in a temporary folder must be visible there, together with its neighbors.
                let beside = |folder: &RawPath| {
                    let top = path.strip_prefix(&**folder).ok()?.components().next()?;
                    Some(folder.join(top))
                };
                spec.visible.extend(spec.temporary.iter().find_map(beside).map(RawPath));
            }
            spec.is_server = true;
            // Rules about commands don't apply to what a server starts.
            spec.masks.programs = Vec::new();
            spec.visible.sort();
            spec.visible.dedup();
            // The configuration's variables override the sandbox's.
            spec.environment.retain(|(name, _)| !env.iter().any(|(set, _)| set == name));
            Some(session::launcher(spec, None)?)
        }
    };
    let args = args.into_iter().map(Into::into).collect();
    service::start(ServiceSpec { wrapper, program: command.into(), args, cwd, environment: env })
}

/// A persistent home of its own, because many servers store files in `~`. What they only read there stays in place.
fn home(own_folder: &Path, given: &[(String, String)]) -> io::Result<Vec<(String, String)>> {
    let is_given = |name: &str| given.iter().any(|(known, _)| known == name);
    if is_given("HOME") {
        return Ok(Vec::new());
    }
    let new = own_folder.join("home");
    file::create_private_folder(&new)?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut set = vec![("HOME".to_owned(), text(new.clone()))];
    for (name, folder) in XDG.into_iter().filter(|(name, _)| !is_given(name)) {
        if std::env::var_os(name).is_some() {
            set.push((name.to_owned(), text(new.join(folder))));
        }
    }
    let real = std::env::home_dir().unwrap_or_default();
    let tools = TOOLS.lines().filter_map(|row| row.split_once(' '));
    for (name, place) in tools.filter(|(name, _)| !is_given(name)) {
        if std::env::var_os(name).is_none() && real.join(place).exists() {
            set.push((name.to_owned(), text(real.join(place))));
        }
    }
    Ok(set)
}

/// Folders named in the arguments, which the server is obviously meant to use.
fn folders<'a>(args: &'a [String], cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let named = |arg: &String| {
        let path = Path::new(arg.rsplit_once('=').map_or(arg.as_str(), |(_, value)| value));
        let deep = path.is_absolute() && path.components().count() > 2;
        let relative = arg.starts_with('.');
        (deep || relative).then(|| cwd.join(path)).filter(|path| path.is_dir())
    };
    args.iter().filter_map(named)
}
