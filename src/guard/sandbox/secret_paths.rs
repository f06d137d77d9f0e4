//! Where users and programs keep secrets, relative to a home or absolute. The policy judges by this list, and
//! the sandbox hides what exists. Reads names, never contents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// In every home; folders and files.
const IN_HOME: &[&str] = &[
    // Keys and credentials.
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".oci",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/heroku",
    ".config/op",
    ".config/sops",
    ".config/age",
    ".config/rclone",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".config/configstore",
    ".config/fly",
    ".config/netlify",
    ".config/stripe",
    ".config/wrangler",
    ".wrangler",
    ".fly",
    ".docker/config.json",
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".rd",
    ".lima",
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".gradle/gradle.properties",
    ".m2/settings-security.xml",
    ".nuget/NuGet/NuGet.Config",
    ".hex/hex.config",
    ".lein/credentials.clj",
    ".ivy2/.credentials",
    ".julia/servers",
    ".pub-cache/credentials.json",
    ".config/dart/pub-credentials.json",
    ".config/dart/pub-tokens.json",
    ".conan2/credentials.json",
    ".conan2/source_credentials.json",
    ".config/pypoetry/auth.toml",
    ".config/pnpm/rc",
    ".local/share/uv/credentials",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".kaggle",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".boto",
    ".s3cfg",
    ".password-store",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".msmtprc",
    ".fetchmailrc",
    ".smbcredentials",
    ".rhosts",
    ".Xauthority",
    ".ICEauthority",
    ".step",
    ".minikube",
    ".1password",
    ".bitwarden-ssh-agent.sock",
    ".putty",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".env",
    ".databrickscfg",
    ".config/databricks",
    ".railway",
    ".cloudflared",
    ".ngrok2",
    ".config/ngrok",
    ".config/Yubico",
    ".config/argocd",
    ".argocd",
    ".config/helm/registry",
    ".talos",
    ".tsh",
    ".config/tailscale",
    ".config/remmina",
    ".local/share/remmina",
    ".config/filezilla",
    ".subversion/auth",
    ".pulumi/credentials.json",
    ".sentryclirc",
    ".supabase",
    ".config/vercel",
    ".local/share/com.vercel.cli",
    ".config/scw",
    ".config/linode-cli",
    ".linode-cli",
    ".config/exoscale",
    ".config/snowflake",
    ".snowflake",
    ".snowsql",
    ".bluemix",
    ".mc",
    ".config/mc",
    ".chef",
    ".jira.d",
    ".config/flyctl",
    ".config/solana",
    ".foundry/keystores",
    ".near-credentials",
    ".local/share/jupyter/runtime",
    ".config/atuin",
    ".local/share/atuin",
    ".config/atlassian",
    ".config/teleport",
    ".tor",
    ".jupyter/jupyter_server_config.json",
    ".jupyter/jupyter_notebook_config.json",
    ".aws-sam",
    ".ansible/vault",
    ".ollama/id_ed25519",
    ".config/openstack",
    ".dbt/profiles.yml",
    ".sbt/credentials",
    ".sbt/.credentials",
    ".android/adbkey",
    ".config/syncthing",
    ".local/state/syncthing",
    "Library/Application Support/Syncthing",
    ".config/kdeconnect",
    // Other agents' keys and sessions.
    ".local/share/opencode",
    ".config/opencode",
    ".local/share/crush",
    ".config/goose",
    ".local/share/amp",
    ".qwen",
    ".kiro",
    // Editors keep tokens of extensions here.
    ".config/Code/User/globalStorage",
    ".config/Code - Insiders/User/globalStorage",
    ".config/VSCodium/User/globalStorage",
    ".config/Cursor/User/globalStorage",
    ".config/Windsurf/User/globalStorage",
    ".vscode-server/data/User/globalStorage",
    ".cursor-server/data/User/globalStorage",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/mycode",
    ".local/state/mycode",
    ".config/openai",
    ".config/anthropic",
    ".config/github-copilot",
    // Keyrings and password managers.
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/kwalletd6",
    ".kde/share/apps/kwallet",
    ".local/share/pass",
    ".local/share/gopass",
    ".config/keepassxc",
    ".config/KeePass",
    ".config/Bitwarden",
    ".config/1Password",
    "Library/Keychains",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/librewolf",
    ".librewolf",
    ".waterfox",
    ".zen",
    ".cache/mozilla",
    ".cache/google-chrome",
    ".cache/chromium",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Cookies",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".local/share/TelegramDesktop",
    // Histories of what was typed.
    ".bash_history",
    ".zsh_history",
    ".history",
    ".sh_history",
    ".ash_history",
    ".zhistory",
    ".ipython/profile_default/history.sqlite",
    ".histfile",
    ".local/share/fish/fish_history",
    ".config/fish/fish_variables",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".irb_history",
    ".lesshst",
    ".viminfo",
];

const ABSOLUTE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/libvirt",
    "/var/lib/sss",
    "/var/lib/NetworkManager",
    "/var/spool/cron",
    "/var/spool/mail",
    "/var/mail",
    "/var/snap",
    "/mnt/wslg",
];

/// Not hidden by name: the sandbox has its own `/run`, `/dev` and `/proc`, and Maven fails on empty settings.
const JUDGED_ONLY: &[&str] = &[
    "/run/secrets",
    "/var/run/secrets",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/dev/pts",
    "/dev/input",
    "/proc/kcore",
];
const JUDGED_ONLY_IN_HOME: &[&str] = &[".m2/settings.xml"];

/// In `/proc/PID`: another program's memory or variables.
const PROC: &[&str] = &["environ", "mem", "maps", "root", "cwd", "fd", "task", "auxv", "map_files"];

/// Text in code that can only mean a secret path.
const MARKS: &[&str] = &[
    "/.ssh/",
    ".ssh/id_",
    "id_rsa",
    "id_ed25519",
    ".aws/credentials",
    "/.aws/",
    "/.gnupg",
    "/etc/shadow",
    "/.kube/config",
    "/.netrc",
    ".git-credentials",
    "/.docker/config.json",
    "/.config/gcloud",
    "/.config/gh/",
    "Login Data",
    "/.mozilla/",
    "/keyrings",
    "/.password-store",
    "/environ",
];

const HOST_KEY_PREFIX: &str = "ssh_host_";
const MAX_HOMES: usize = 64;
const NAMED_BY_VARIABLE: &[&str] = &[
    "GNUPGHOME",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "KUBECONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "DOCKER_CONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "PGPASSFILE",
    "HISTFILE",
    "PASSWORD_STORE_DIR",
    "VAULT_TOKEN_FILE",
    "XAUTHORITY",
    "GH_CONFIG_DIR",
];

/// The user's, root's, and all others that are visible.
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
    let in_homes = homes.iter().flat_map(|home| IN_HOME.iter().map(|name| home.join(name)));
    let absolute = ABSOLUTE.iter().map(PathBuf::from);
    let host_keys = std::fs::read_dir("/etc/ssh").into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        (name.starts_with(HOST_KEY_PREFIX) && !name.ends_with(".pub")).then(|| entry.path())
    });
    // `KUBECONFIG` is a list.
    let named = NAMED_BY_VARIABLE.iter().filter_map(move |name| variable(name)).flat_map(|list| {
        std::env::split_paths(list.as_os_str()).filter(|path| path.is_absolute()).collect::<Vec<_>>()
    });
    in_homes.chain(absolute).chain(host_keys).chain(named)
}

/// Existing secrets, links resolved: hiding the real path hides the link, too.
pub fn existing(homes: &[PathBuf], variable: impl Fn(&str) -> Option<PathBuf>) -> BTreeSet<PathBuf> {
    all(homes, variable)
        // Cheap check first: most don't exist.
        .filter(|path| path.symlink_metadata().is_ok())
        .filter_map(|path| path.canonicalize().ok())
        // A link to a home or to `/` would hide too much.
        .filter(|path| path.components().count() > 2 && !homes.contains(path))
        .collect()
}

/// For judging commands: `home` is the user's, `own` are the program's folders.
pub fn places(home: Option<&Path>, own: &[&Path]) -> Vec<PathBuf> {
    let mut homes = homes(home);
    homes.extend(home.map(Path::to_owned));
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let more = JUDGED_ONLY_IN_HOME.iter().flat_map(|name| homes.iter().map(move |home| home.join(name)));
    all(&homes, variable)
        .chain(more)
        .chain(JUDGED_ONLY.iter().map(PathBuf::from))
        .chain(own.iter().map(|path| path.to_path_buf()))
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
    use std::os::unix::fs::FileTypeExt;
    path.starts_with("/dev") && std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device())
}

pub fn named_in(code: &str) -> Option<&'static str> {
    MARKS.iter().copied().find(|mark| code.contains(mark))
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
