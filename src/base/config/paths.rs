//! Where configuration, state and cache are on this machine. Doesn't create anything.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::file;

#[derive(Clone, Debug)]
pub struct Paths {
    pub config: PathBuf,
    /// Sessions, spilled outputs, permission rules.
    pub state: PathBuf,
}

impl Paths {
    /// `MYCODE_HOME` puts everything into one folder; otherwise the XDG folders or `~`, if needed from the user database.
    pub fn from_env() -> Self {
        Self::resolve(|name| env::var_os(name).filter(|value| !value.is_empty()), env::home_dir)
    }

    fn resolve(var: impl Fn(&str) -> Option<OsString>, home: impl FnOnce() -> Option<PathBuf>) -> Self {
        if let Some(home) = var("MYCODE_HOME") {
            let home = PathBuf::from(home);
            return Self { config: home.clone(), state: home.join("state") };
        }
        // Never a folder that others can write to, because a configuration planted there could redirect every prompt.
        let home = home().filter(|path| path.is_absolute()).unwrap_or_else(|| PathBuf::from("/"));
        let folder = |name: &str, fallback: &str| {
            var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(fallback))
                .join("mycode")
        };
        Self { config: folder("XDG_CONFIG_HOME", ".config"), state: folder("XDG_STATE_HOME", ".local/state") }
    }

    /// The state folder of a workspace: its name for people, and a hash of its path for uniqueness.
    pub fn project(&self, workspace: &Path) -> PathBuf {
        project_in(&self.projects(), workspace)
    }

    pub fn projects(&self) -> PathBuf {
        self.state.join("projects")
    }

    pub fn user_config(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    pub fn servers(&self) -> PathBuf {
        self.state.join("servers.json")
    }

    pub fn prompts(&self) -> PathBuf {
        self.state.join("prompts.jsonl")
    }

    /// Installed bundles of skills, hooks, commands, sub-agents and MCP servers.
    pub fn plugins(&self) -> PathBuf {
        self.state.join("plugins")
    }

    /// Pasted pictures, and the text open in the user's editor.
    pub fn composer(&self) -> PathBuf {
        self.state.join("composer")
    }
}

pub fn project_config(workspace: &Path) -> PathBuf {
    workspace.join(".mycode").join("config.toml")
}

pub fn project_in(projects: &Path, workspace: &Path) -> PathBuf {
    let hash = file::hash(workspace.as_os_str().as_encoded_bytes());
    let name: String = workspace
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(40)
        .collect();
    let name = if name.is_empty() { "root".to_owned() } else { name };
    projects.join(format!("{name}-{}", &hash[..10]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_home_or_xdg() {
        let one = Paths::resolve(|name| (name == "MYCODE_HOME").then(|| "/m".into()), || None);
        assert_eq!(one.user_config(), Path::new("/m/config.toml"));
        let xdg = Paths::resolve(
            |name| match name {
                "XDG_STATE_HOME" => Some("/s".into()),
                "XDG_CONFIG_HOME" => Some("relative".into()),
                _ => None,
            },
            || Some("/h".into()),
        );
        assert_eq!(xdg.state, Path::new("/s/mycode"));
        assert_eq!(xdg.config, Path::new("/h/.config/mycode"));
        let homeless = Paths::resolve(|_| None, || Some("relative".into()));
        assert_eq!(homeless.config, Path::new("/.config/mycode"));
    }

    #[test]
    fn same_name_projects() {
        let paths = Paths::resolve(|_| None, || None);
        assert_ne!(paths.project(Path::new("/a/app")), paths.project(Path::new("/b/app")));
    }
}
