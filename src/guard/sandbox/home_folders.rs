//! Which dot files and folders in a home confined commands may see: those of toolchains and common programs.
//! The rest is hidden, in case it has secrets that `secret_paths` doesn't list. Reads names, never contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::places;

/// The folders that are filtered, and the list of what is visible in each; only the home itself goes by the dot.
const LEVELS: &[(&str, &str)] = &[
    ("", "seen in the home"),
    (".config", "seen in .config"),
    (".local", "seen in .local"),
    (".local/share", "seen in .local/share"),
    (".local/state", "seen in .local/state"),
];

/// System folders: home links into them point to installed software.
const SYSTEM: &[&str] =
    &["/usr", "/opt", "/nix", "/gnu", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/var/lib", "/snap"];

/// What of `homes` (canonical) is hidden. In a home inside the workspace: only known secrets.
pub fn closed(homes: &[PathBuf], workspace: &Path) -> BTreeSet<PathBuf> {
    let elsewhere = homes.iter().filter(|home| !home.starts_with(workspace));
    let levels = elsewhere.flat_map(|home| LEVELS.iter().map(move |(level, seen)| (home, *level, *seen)));
    let mut closed = BTreeSet::new();
    for (home, level, seen) in levels {
        let Ok(folder) = home.join(level).canonicalize() else { continue };
        let seen: Vec<&str> = places::list(seen).flat_map(str::split_whitespace).collect();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if level.is_empty() && !name.starts_with('.') || is_seen(&name, &seen) {
                continue;
            }
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                closed.insert(path);
            } else if let Ok(real) = path.canonicalize()
                && !is_shared(&real, homes, workspace)
            {
                closed.insert(real);
            }
        }
    }
    closed
}

fn is_seen(name: &str, seen: &[&str]) -> bool {
    seen.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    })
}

/// Whether a link's target must stay visible: hiding it would hide the system, a home or the workspace.
fn is_shared(real: &Path, homes: &[PathBuf], workspace: &Path) -> bool {
    SYSTEM.iter().any(|folder| real.starts_with(folder))
        || real.starts_with(workspace)
        || homes.iter().any(|home| home.starts_with(real))
        // In a home it goes by its own name.
        || homes.iter().any(|home| real.starts_with(home))
        || real.components().count() <= 2
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_no_list_knows_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, moved) = (top.join("home"), top.join("disk/odd"));
        for name in
            [".cargo", ".odd", ".config/git", ".config/odd", ".local/share/uv", ".local/share/odd", "work"]
        {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".oddrc"), "").unwrap();
        std::fs::create_dir_all(&moved).unwrap();
        for (to, name) in [(&moved, ".moved"), (&home.join("work"), ".link"), (&"/usr/lib".into(), ".system")]
        {
            std::os::unix::fs::symlink(to, home.join(name)).unwrap();
        }
        let homes = [home.clone()];
        let mut expected =
            BTreeSet::from([".odd", ".oddrc", ".config/odd", ".local/share/odd"].map(|name| home.join(name)));
        expected.insert(moved);
        assert_eq!(closed(&homes, &home.join("work")), expected);
        assert!(closed(&homes, &home).is_empty());
    }
}
