//! Where people and programs keep what nobody else may see, and what steers programs. Flat tables.

use std::path::{Path, PathBuf};

/// Below the home folder.
const HOME: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/doctl",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Slack",
    ".config/Signal",
    ".config/mycode",
    ".local/state/mycode",
    ".mozilla",
    ".thunderbird",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".terraform.d",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    ".claude",
    ".codex",
    ".gemini",
];

const ANYWHERE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/NetworkManager/system-connections",
    "/run/secrets",
    "/var/run/secrets",
    "/var/spool/cron",
    "/root/.ssh",
    "/root/.aws",
    "/dev/mem",
    "/dev/kmem",
    "/proc/kcore",
];

/// Parts of `/proc/PID` that show another program's memory or variables.
const PROC: &[&str] = &["environ", "mem", "maps", "root", "cwd", "fd", "task", "auxv", "map_files"];

/// Text in code that can only mean such a place.
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

/// Inside the workspace: what steers git, editors, agents and builders rather than being worked on.
const STEERING: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/modules",
    ".mycode",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".cursorrules",
    ".windsurfrules",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    ".drone.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".husky",
    ".pre-commit-config.yaml",
    ".envrc",
    ".mcp.json",
    "mcp_servers.json",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "CODE_LAW.md",
    ".ripgreprc",
    ".gdbinit",
    ".lldbinit",
];

/// The secret places on this machine. `own` are the program's folders.
pub fn places(home: Option<&Path>, own: &[&Path]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ANYWHERE.iter().map(PathBuf::from).collect();
    all.extend(own.iter().map(|path| path.to_path_buf()));
    if let Some(home) = home {
        all.extend(HOME.iter().map(|name| home.join(name)));
    }
    all
}

/// Whether a canonical path shows another program's memory or variables.
pub fn is_process_inside(path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix("/proc") else { return false };
    rest.components().skip(1).any(|part| PROC.iter().any(|name| part.as_os_str() == *name))
}

/// Whether code names a secret place.
pub fn named_in(code: &str) -> Option<&'static str> {
    MARKS.iter().copied().find(|mark| code.contains(mark))
}

/// Whether a path relative to the workspace steers other programs.
pub fn steers(inside: &Path) -> bool {
    // `.git` itself may be replaced as a whole.
    inside == Path::new(".git") || STEERING.iter().any(|name| inside.starts_with(name))
}
