//! Caches that build tools can rebuild. A confined command sees them and can write to them, but its writes go
//! to the session's private folder: builds work, and nothing reaches anyone else's next build.

use std::path::{Path, PathBuf};

use super::places;
use base::file;

/// Slow to rebuild, so each project keeps its own for its confined commands.
const PER_PROJECT: &[&str] = &["GOCACHE"];

/// Creates the folders in `base` unless the user has moved them; also returns the variables that name them.
pub fn of_project(
    base: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> (Vec<PathBuf>, Vec<(String, Option<String>)>) {
    let mut folders = Vec::new();
    let mut environment = Vec::new();
    for name in PER_PROJECT.iter().filter(|name| variable(name).is_none()) {
        let folder = base.join(name);
        // Without it, builds are only slower.
        if file::create_private_folder(&folder).is_err() {
            continue;
        }
        if let Ok(folder) = folder.canonicalize() {
            environment.push(((*name).to_owned(), Some(folder.to_string_lossy().into_owned())));
            folders.push(folder);
        }
    }
    (folders, environment)
}

/// The caches that exist, and the variables that send tools to `temporary` for the rest.
pub fn find(
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<PathBuf>,
    temporary: &Path,
) -> (Vec<PathBuf>, Vec<(String, Option<String>)>) {
    let mut folders = Vec::new();
    let mut environment = Vec::new();
    for entry in places::list("caches in a home") {
        let (place, moved_by) =
            entry.split_once(' ').map_or((entry, None), |(place, name)| (place, Some(name)));
        let named = moved_by.and_then(&variable);
        let Some(folder) = named.or_else(|| Some(home?.join(place))) else { continue };
        match folder.canonicalize() {
            Ok(folder) if folder.is_dir() => folders.push(folder),
            _ => {
                if let Some(name) = moved_by {
                    let folder = temporary.join(place.replace('/', "-"));
                    environment.push((name.to_owned(), Some(folder.to_string_lossy().into_owned())));
                }
            }
        }
    }
    let named = places::list("variables that name caches").filter_map(variable);
    folders.extend(named.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()));
    folders.sort();
    folders.dedup();
    // A cache inside another is covered by it.
    let all = folders.clone();
    folders.retain(|folder| !all.iter().any(|other| other != folder && folder.starts_with(other)));
    folders.retain(|folder| folder.components().count() > 2);
    (folders, environment)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn existing_and_missing_caches() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".cache/go-build")).unwrap();
        let build = home.join(".cache/go-build");
        let (folders, environment) =
            find(Some(&home), |name| (name == "GOCACHE").then(|| build.clone()), Path::new("/tmp"));
        assert_eq!(folders, [home.join(".cache")]);
        let cargo = ("CARGO_HOME".to_owned(), Some("/tmp/.cargo".to_owned()));
        assert!(
            environment.contains(&cargo) && !environment.iter().any(|(name, _)| name == "XDG_CACHE_HOME")
        );
    }
}
