//! What "yes, for the rest of this session" allows; the user sees exactly that in words.

use std::path::{Path, PathBuf};

use super::access::Access;
use super::command::AssessedAccess;
use super::command_prefix::general_prefix;
use super::path_scope::PathScope;
use super::programs::assessment::Risk;
use crate::sandbox::secret_paths;
use base::path;

/// A folder with more names isn't checked, so it can't be allowed as a whole.
const MAX_NAMES: usize = 5_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionGrant {
    Prefix(String),
    /// This exact command, because it has no safe prefix.
    Command(String),
    Writes,
    /// Writing to workspace files that match this rule's pattern.
    WritesTo(String),
    /// This exact file or folder, nothing below it.
    ReadPath(PathBuf),
    /// Everything below this folder except secrets.
    ReadFolder(PathBuf),
    Host(String),
    Tool(String),
}

impl SessionGrant {
    /// What allowing these accesses for the session grants; empty if only this call can be allowed.
    pub fn all(accesses: &[AssessedAccess], scope: &PathScope) -> Vec<Self> {
        let inside = |path: &Path| scope.inside(path).is_some();
        let mut grants = Vec::new();
        for assessed in accesses {
            let calls = assessed.command.iter().filter_map(|command| command.calls.as_ref().ok()).flatten();
            let elsewhere: Vec<&PathBuf> =
                calls.clone().flat_map(|call| &call.assessment.elsewhere).collect();
            if !elsewhere.is_empty() && calls.into_iter().all(|call| call.assessment.risk == Risk::Reads) {
                grants.extend(elsewhere.into_iter().map(|path| Self::reading(path, scope)));
                continue;
            }
            let grant = match &assessed.access {
                Access::Exec { command, .. } => match assessed.command.as_ref().and_then(general_prefix) {
                    Some(prefix) => Self::Prefix(prefix),
                    None => Self::Command(command.clone()),
                },
                Access::Write(path) if inside(path) => Self::Writes,
                Access::Read(path) if !inside(path) => Self::reading(path, scope),
                Access::Host(host) => Self::Host(host.clone()),
                Access::Remote { server, tool, .. } => Self::Tool(format!("{server}.{tool}")),
                _ => continue,
            };
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
        grants
    }

    fn reading(path: &Path, scope: &PathScope) -> Self {
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        match folder {
            Some(folder) if !holds_secrets(folder, scope) => Self::ReadFolder(folder.to_owned()),
            _ => Self::ReadPath(path.to_owned()),
        }
    }

    /// In an allowed folder, secrets and links to other places are still closed.
    pub fn reads(&self, path: &Path, scope: &PathScope) -> bool {
        match self {
            Self::ReadPath(open) => path == open,
            Self::ReadFolder(open) => {
                let real = path::follow(path);
                path.starts_with(open)
                    && real.starts_with(path::follow(open))
                    && !scope.is_secret(&real, false)
            }
            _ => false,
        }
    }

    pub fn listed(&self) -> String {
        match self {
            Self::Command(command) => format!("the command `{command}`"),
            other => other.text(),
        }
    }

    /// For the user; completes "yes, for this session: …".
    pub fn text(&self) -> String {
        match self {
            Self::Prefix(prefix) => format!("commands that begin with `{prefix}`"),
            Self::Command(_) => "this exact command".to_owned(),
            Self::Writes => "changes to files in the workspace".to_owned(),
            Self::WritesTo(pattern) => format!("changes to {pattern}"),
            Self::ReadPath(path) => format!("reading {}", path.display()),
            Self::ReadFolder(folder) => format!("reading all files in {}", folder.display()),
            Self::Host(host) => format!("reading pages of {host}"),
            Self::Tool(tool) => format!("the tool {tool}"),
        }
    }

    /// The words that "always" stores; `None` if it can't outlive the session.
    pub fn words(&self) -> Option<&str> {
        let (Self::Prefix(words) | Self::Host(words) | Self::Tool(words)) = self else { return None };
        Some(words)
    }
}

/// Whether the folder is or contains a home, looks like one, or contains a secret.
fn holds_secrets(folder: &Path, scope: &PathScope) -> bool {
    let real = path::follow(folder);
    let is_secret = |entry: &std::fs::DirEntry| secret_paths::is_named_secret(&entry.path());
    let as_home = secret_paths::places(Some(&real), &[]);
    scope.home.as_ref().is_some_and(|home| home.starts_with(&real))
        || scope.is_secret(&real, true)
        || as_home.iter().any(|place| place.starts_with(&real) && place.exists())
        || match std::fs::read_dir(&real) {
            Ok(entries) => {
                let names: Vec<_> = entries.flatten().take(MAX_NAMES + 1).collect();
                names.len() > MAX_NAMES || names.iter().any(is_secret)
            }
            Err(_) => true,
        }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn grant(path: &Path, scope: &PathScope) -> SessionGrant {
        let access = AssessedAccess::new(&Access::Read(path.to_owned()), scope);
        SessionGrant::all(&[access], scope).remove(0)
    }

    #[test]
    fn a_folder_is_opened_by_name_where_it_holds_no_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, docs, keys) = (top.join("home"), top.join("docs"), top.join("keys"));
        for folder in [&home, &docs, &keys] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::create_dir(home.join(".ssh")).unwrap();
        for file in [docs.join("a.md"), keys.join("a.md"), keys.join("id_rsa"), home.join(".ssh/id_rsa")] {
            fs::write(file, "").unwrap();
        }
        std::os::unix::fs::symlink(&home, docs.join("link")).unwrap();
        let scope = PathScope::at_home(&top.join("project"), &[], &[], Some(home.clone()));
        let open = grant(&docs.join("a.md"), &scope);
        assert_eq!(open.text(), format!("reading all files in {}", docs.display()));
        assert!(open.reads(&docs.join("a.md"), &scope) && open.reads(&docs.join("b.md"), &scope));
        assert!(
            !open.reads(&docs.join("link/.ssh/id_rsa"), &scope) && !open.reads(&docs.join("link/x"), &scope)
        );
        assert_eq!(grant(&keys.join("a.md"), &scope), SessionGrant::ReadPath(keys.join("a.md")));
        // Reading a folder as a whole doesn't grant more.
        assert_eq!(grant(&home, &scope), SessionGrant::ReadPath(home.clone()));
    }
}
