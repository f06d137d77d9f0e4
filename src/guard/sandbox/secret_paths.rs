//! Where users and programs keep secrets, and which dot files and folders in a home confined commands may see: those of
//! toolchains and common programs. The policy uses this list, and the sandbox hides what exists. Reads names, never contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::places;
use base::system::os;

/// Entries of `/proc/PID` with another program's memory or variables.
const PROC: &[&str] = &["environ", "mem", "maps", "root", "cwd", "fd", "task", "auxv", "map_files"];

const HOST_KEY_PREFIX: &str = "ssh_host_";
const MAX_HOMES: usize = 64;
/// Homes of the user, root, and all other visible users.
pub fn homes(own: Option<&Path>) -> Vec<PathBuf> {
    let mut homes: BTreeSet<PathBuf> = BTreeSet::new();
    homes.extend(own.and_then(|home| home.canonicalize().ok()));
    // From the user database, whatever `HOME` says.
    homes.extend(std::env::home_dir().and_then(|home| home.canonicalize().ok()));
    homes.insert("/root".into());
    for folder in ["/home", "/Users"] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        homes.extend(entries.flatten().map(|entry| entry.path()).take(MAX_HOMES));
    }
    homes.retain(|home| home != Path::new("/") && home.is_dir());
    homes.into_iter().collect()
}

fn all(homes: &[PathBuf], variable: impl Fn(&str) -> Option<PathBuf>) -> impl Iterator<Item = PathBuf> {
    let in_homes = homes.iter().flat_map(|home| places::list("secret in a home").map(|name| home.join(name)));
    let absolute = places::list("secret").map(PathBuf::from);
    let host_keys = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        (name.starts_with(HOST_KEY_PREFIX) && !name.ends_with(".pub")).then(|| entry.path())
    });
    // `KUBECONFIG` can be a list.
    let named = places::list("variables that name secrets").filter_map(variable).flat_map(|list| {
        std::env::split_paths(list.as_os_str()).filter(|path| path.is_absolute()).collect::<Vec<_>>()
    });
    in_homes.chain(absolute).chain(host_keys).chain(named)
}

/// Existing secrets with links resolved, because hiding the real path also hides the link.
pub fn existing(homes: &[PathBuf], variable: impl Fn(&str) -> Option<PathBuf>) -> BTreeSet<PathBuf> {
    all(homes, variable)
        // Cheap check first, because most don't exist.
        .filter(|path| path.symlink_metadata().is_ok())
        .filter_map(|path| path.canonicalize().ok())
        // A link to a home or to `/` would hide too much.
        .filter(|path| path.components().count() > 2 && !homes.contains(path))
        .collect()
}

/// For judging commands: `home` is the user's, `own` are our folders.
pub fn places(home: Option<&Path>, own: &[PathBuf]) -> Vec<PathBuf> {
    let mut homes = homes(home);
    homes.extend(home.map(Path::to_owned));
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let more =
        homes.iter().flat_map(|home| places::list("judged only in a home").map(|name| home.join(name)));
    all(&homes, variable)
        .chain(more)
        .chain(places::list("judged only").map(PathBuf::from))
        .chain(own.iter().cloned())
        .collect()
}

pub fn is_process_inside(path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix("/proc") else { return false };
    rest.components().skip(1).any(|part| PROC.iter().any(|name| part.as_os_str() == *name))
}

/// A file name that projects use for passwords or keys, anywhere.
pub fn is_named_secret(path: &Path) -> bool {
    const SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];
    const KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return false };
    let settings = name.strip_prefix(".env").is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('.').is_some_and(|kind| !SAMPLES.contains(&kind))
    });
    settings || KEYS.contains(&&*name)
}

/// A disk's blocks contain all users' files.
pub fn is_disk(path: &Path) -> bool {
    let kind = std::fs::metadata(path).ok().and_then(|meta| os::special_kind(&meta));
    path.starts_with("/dev") && kind == Some("block device")
}

pub fn named_in(code: &str) -> Option<&'static str> {
    places::list("marks of secrets").find(|mark| code.contains(mark))
}

/// Folders that are filtered, with the list of what is visible in each. In the home itself, only dot names are filtered.
const LEVELS: &[(&str, &str)] = &[
    ("", "seen in the home"),
    (".config", "seen in .config"),
    (".local", "seen in .local"),
    (".local/share", "seen in .local/share"),
    (".local/state", "seen in .local/state"),
];

/// System folders: links into them from a home lead to installed software.
const SYSTEM: &[&str] =
    &["/usr", "/opt", "/nix", "/gnu", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/var/lib", "/snap"];

/// What is hidden of `homes` (canonical). In a home inside the workspace, only known secrets.
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

/// Whether this path below a home belongs to a tool chain or common program, so that confined commands see it.
pub fn is_shown_in_home(below: &Path) -> bool {
    let first =
        |path: &Path| path.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let is_listed = |level: &str, seen: &str| {
        let name = below.strip_prefix(level).ok().and_then(first);
        let seen: Vec<&str> = places::list(seen).flat_map(str::split_whitespace).collect();
        name.is_none_or(|name| is_seen(&name, &seen))
    };
    below.components().count() > 1 && LEVELS.iter().all(|(level, seen)| is_listed(level, seen))
}

fn is_seen(name: &str, seen: &[&str]) -> bool {
    seen.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    })
}

/// Whether a link's target must stay visible, because hiding it would hide the system, a home or the workspace.
fn is_shared(real: &Path, homes: &[PathBuf], workspace: &Path) -> bool {
    SYSTEM.iter().any(|folder| real.starts_with(folder))
        || real.starts_with(workspace)
        || homes.iter().any(|home| home.starts_with(real))
        // Targets in a home are decided by their own name.
        || homes.iter().any(|home| real.starts_with(home))
        || real.components().count() <= 2
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_profiles_are_secret_and_what_lies_beside_them_is_not() {
        let places = places(Some(Path::new("/home/u")), &[]);
        let is_secret =
            |name: &str| places.iter().any(|place| Path::new("/home/u").join(name).starts_with(place));
        let secrets = "\
            .ollama/id_ed25519 .config/openstack/clouds.yaml .dbt/profiles.yml .sbt/credentials .android/adbkey \
            .config/syncthing/key.pem .local/state/syncthing/key.pem .config/kdeconnect/privateKey.pem .vault-token .local/share/uv/credentials/credentials.toml";
        for name in secrets.split_whitespace() {
            assert!(is_secret(name), "{name}");
        }
        for name in
            [".ollama/models/blobs", ".sbt/1.0/plugins", ".android/avd", ".dbt/logs", ".config/openbox"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn links_and_variables_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        let keys = home.join("elsewhere/keys");
        std::fs::create_dir_all(&keys).unwrap();
        std::os::unix::fs::symlink(&keys, home.join(".ssh")).unwrap();
        std::fs::create_dir(home.join("gpg")).unwrap();
        std::os::unix::fs::symlink(&home, home.join(".aws")).unwrap();
        let gpg = home.join("gpg");
        let named = |name: &str| (name == "GNUPGHOME").then(|| gpg.clone());
        let found = existing(std::slice::from_ref(&home), named);
        assert!(found.contains(&keys) && found.contains(&gpg) && !found.contains(&home));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod home_tests {
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
