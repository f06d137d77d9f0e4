//! Protected paths: workspace configuration that controls other programs. Commands may read but never
//! change it, whether it exists or not. The policy uses this list, and the sandbox enforces it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::places;
use crate::shell::interpret::call::Call;
use base::search::words::listed;

static IN_WORKSPACE: LazyLock<Vec<&str>> =
    LazyLock::new(|| places::list("protected in a workspace").collect());
/// In every git folder: what runs programs or redirects git.
pub const IN_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "gitdir", "info/attributes"];

/// What was built or installed.
pub const SKIPPED: &[&str] =
    &[".git", "node_modules", "target", "__pycache__", ".venv", "venv", ".tox", ".gradle"];

/// Lowercase; any case matches. docs.warp.dev, qwenlm.github.io and github.com/charmbracelet/crush, read in November 2026.
pub const RULES: &[&str] = &[
    "code_law.md",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "warp.md",
    "qwen.md",
    "crush.md",
];

/// Editors open such files together with their tasks and settings.
pub const ENDINGS: &[&str] = &[".code-workspace"];

/// Without git's own paths. Homes in the workspace add theirs.
pub fn paths(workspace: &Path, homes: &[PathBuf]) -> Vec<PathBuf> {
    let own = IN_WORKSPACE.iter().map(|name| workspace.join(name));
    let inside = homes.iter().filter(|home| home.starts_with(workspace));
    own.chain(inside.flat_map(|home| in_home().map(|name| home.join(name)))).collect()
}

/// Also true for files whose suffix configures an editor.
pub fn is_rules_file(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    RULES.contains(&name.as_str()) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// `inside` is relative to the workspace.
pub fn steers(inside: &Path) -> bool {
    let first = inside.components().next();
    // Rules files count anywhere.
    let is_rules =
        inside.file_name().is_some_and(|name| RULES.contains(&&*name.to_string_lossy().to_lowercase()))
            || inside.iter().any(|name| name == ".cursor" || name == ".claude");
    // Also in a repository, worktree or submodule below.
    let mut parts = inside.components();
    if parts.by_ref().any(|name| name.as_os_str() == ".git") {
        let rest = parts.as_path();
        // `.git` itself could be replaced; submodules in it have their own protected paths.
        return rest.as_os_str().is_empty()
            || rest.starts_with("modules")
            || IN_GIT.iter().any(|name| rest.starts_with(name));
    }
    is_rules
        || first.is_some_and(|name| is_rules_file(name.as_os_str()))
        || IN_WORKSPACE.iter().any(|name| inside.starts_with(name))
}

static RUN_BY_NAME: LazyLock<HashSet<&str>> = LazyLock::new(|| names("run by name"));
static CACHES: LazyLock<HashSet<&str>> = LazyLock::new(|| names("caches"));
static DOCUMENTS: LazyLock<HashSet<&str>> = LazyLock::new(|| names("documents"));

fn names(list: &str) -> HashSet<&'static str> {
    places::list(list).flat_map(str::split_whitespace).collect()
}

/// Commands may change it, but the change is reported. Hidden files in build and install folders don't count.
pub fn acts_by_name(inside: &Path) -> Option<PathBuf> {
    let parts: Vec<&OsStr> = inside.iter().collect();
    let name = parts.last()?.to_string_lossy();
    let is_in = |name: &str, names: &HashSet<&str>| names.contains(&*name.to_lowercase());
    let stem = name.strip_suffix(".md").unwrap_or_default();
    let in_capitals = !stem.is_empty() && !stem.contains(char::is_lowercase) && !is_in(&name, &DOCUMENTS);
    let is_built =
        |part: &&OsStr| SKIPPED.iter().any(|built| part == built) || is_in(&part.to_string_lossy(), &CACHES);
    let hidden = parts.iter().position(|part| part.as_encoded_bytes().starts_with(b"."));
    match hidden.filter(|_| !parts.iter().any(is_built)) {
        Some(at) => Some(parts[..=at].iter().collect()),
        None => (in_capitals || steers(inside) || is_in(&name, &RUN_BY_NAME)).then(|| inside.to_owned()),
    }
}

/// Package managers, and the file in which they record installations.
const MANIFESTS: [(&str, &str); 2] =
    [("npm pnpm yarn bun", "package.json"), ("uv poetry pdm", "pyproject.toml")];

/// Whether a command only installed or removed packages, which changes this file.
pub fn is_own_manifest(path: &Path, calls: &[Call]) -> bool {
    let manager =
        MANIFESTS.iter().find(|(_, manifest)| path.ends_with(manifest)).map(|(manager, _)| *manager);
    let installs = |call: &Call, manager| {
        let is_install = |arg: &str| listed("install i add remove uninstall rm update upgrade", arg);
        listed(manager, call.name()) && call.args().iter().any(|arg| is_install(&arg.text))
    };
    manager.is_some_and(|manager| {
        calls.iter().any(|call| installs(call, manager))
            && calls.iter().all(|call| call.name() == "cd" || installs(call, manager))
    })
}

/// Relative to a home in the workspace: what would run at the next login.
fn in_home() -> impl Iterator<Item = &'static str> {
    places::list("protected in a home")
}

pub fn steers_logins(in_home: &Path) -> bool {
    self::in_home().any(|name| in_home.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_steer_other_programs() {
        let steering = "\
            .hg/hgrc .jj/repo/config.toml opencode.json .opencode/agent/a.md .qwen/settings.json .kiro/steering/a.md .roo/rules/a.md \
            .amazonq/rules/a.md crush.json .helix/languages.toml .Rprofile .gitea/workflows/ci.yml app.code-workspace Agents.md \
            .agents/a.md .appveyor.yml mise.toml .mise/config.toml .nvim/a.lua .trae/a.md .rules .junie/a.md .goosehints replit.md .continue/a.yaml";
        for path in steering.split_whitespace() {
            assert!(steers(Path::new(path)), "{path}");
        }
        let told = "sub/CLAUDE.md docs/RULES.md Makefile x/conftest.py Eslint.config.mjs rust-toolchain.toml sub/.envrc .npmrc opencode.json";
        assert!(told.split_whitespace().all(|path| acts_by_name(Path::new(path)).is_some()));
        assert_eq!(acts_by_name(Path::new("a/.x/bin/x")).as_deref(), Some(Path::new("a/.x")));
        assert!(
            [
                "README.md",
                "src/a.rs",
                "docs/rules.md",
                "target/.lock",
                ".pytest_cache/.gitignore",
                "a/.DS_Store"
            ]
            .iter()
            .all(|path| acts_by_name(Path::new(path)).is_none())
        );
        let harmless = ".hg/store/data .jj/working_copy/tree src/opencode.rs docs/crush.json code-workspace .gitea/issue.md";
        for path in harmless.split_whitespace() {
            assert!(!steers(Path::new(path)), "{path}");
        }
    }
}
