//! What a new session's first message says of the machine and the project: from files and `PATH` alone, no program is started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::calls::dispatcher::Dispatcher;
use base::deadline::Deadline;
use base::machine;
use base::programs;
use base::repository;
use base::sanitize;
use base::search::walk::{self, Walk};
use guard::redact::detector::TextSource;
use tools::check::project;

const PROGRAMS: &[&str] = &[
    "git", "gcc", "make", "cmake", "python3", "pip", "uv", "node", "npm", "pnpm", "bun", "go", "cargo",
    "java", "mvn", "docker", "curl", "wget", "psql", "sqlite3", "tmux", "rg", "jq",
];
/// What a project with this file calls for.
const MANIFESTS: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo"),
    ("go.mod", "go"),
    ("package.json", "node"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("pytest.ini", "python3"),
    ("pyproject.toml", "python3"),
    ("setup.py", "python3"),
    ("tox.ini", "python3"),
    ("uv.lock", "uv"),
    ("pom.xml", "mvn"),
    ("build.gradle", "gradle"),
    ("build.gradle.kts", "gradle"),
    ("CMakeLists.txt", "cmake"),
    ("Makefile", "make"),
    ("Gemfile", "ruby"),
    ("composer.json", "php"),
    ("mix.exs", "mix"),
    ("Package.swift", "swift"),
    ("Dockerfile", "docker"),
    ("build.zig", "zig"),
];
const INSTALLED: usize = 10;
const MISSING: usize = 8;
const FILES_LISTED: usize = 60;
const FILES_CHARS: usize = 1_600;
const FILES_LOOKED_AT: usize = 4_000;
const FOLDERS: usize = 12;

struct Machine {
    root: Arc<PathBuf>,
    task: String,
    headless: bool,
    /// Commands are confined without a network.
    offline: bool,
    /// It knows its part: only where it is and the date.
    sub_agent: bool,
    deadline: Option<Deadline>,
}

impl Machine {
    fn block(&self) -> String {
        let date = jiff::Zoned::now().date();
        let mut lines =
            vec![format!("Workspace: {}. {} Today: {date}.", self.root.display(), self.machine())];
        if self.sub_agent {
            return format!("<system-reminder>{}</system-reminder>", lines.join("\n"));
        }
        lines.extend(self.headless.then(|| self.programs()).filter(|line| !line.is_empty()));
        lines.extend(self.deadline.map(|deadline| format!("Time limit: {}.", deadline.limit_text())));
        lines.extend(self.project());
        format!("<system-reminder>{}</system-reminder>", lines.join("\n"))
    }

    fn machine(&self) -> String {
        let mut parts = vec![format!("{} {}", machine::system(), std::env::consts::ARCH)];
        if self.headless && !self.sub_agent {
            parts.extend(machine::is_root().then(|| "root".to_owned()));
            parts.push(format!("{} cores", machine::cores()));
            parts.extend(machine::memory().map(|bytes| format!("{} memory", machine::gib(bytes))));
            parts.extend(
                machine::free_disk(&self.root).map(|bytes| format!("{} free disk", machine::gib(bytes))),
            );
        }
        if self.offline {
            parts.push("no network in commands".to_owned());
        }
        format!("{}.", parts.join(", "))
    }

    fn programs(&self) -> String {
        let called_for: Vec<&str> = MANIFESTS
            .iter()
            .filter(|(manifest, _)| self.root.join(manifest).exists())
            .map(|(_, program)| *program)
            .collect();
        let named = PROGRAMS
            .iter()
            .filter(|name| self.task.split(|c: char| !c.is_alphanumeric()).any(|word| word == **name));
        let first: Vec<&str> = called_for.iter().copied().chain(named.copied()).collect();
        let rest = PROGRAMS.iter().copied().filter(|name| !first.contains(name));
        let (mut installed, mut missing) = (Vec::new(), Vec::new());
        for name in first.iter().copied().chain(rest) {
            let list = if programs::is_installed(name) { &mut installed } else { &mut missing };
            if !list.contains(&name) {
                list.push(name);
            }
        }
        // What is implied by another one says nothing.
        installed.retain(|name| !(*name == "npm" && called_for.contains(&"pnpm")));
        installed.truncate(INSTALLED);
        missing.truncate(MISSING);
        let mut line = String::new();
        if !installed.is_empty() {
            line.push_str(&format!("Installed: {}.", installed.join(" ")));
        }
        if programs::is_installed("python3") && !programs::is_installed("python") {
            line.push_str(" python is missing; use python3.");
        }
        if !missing.is_empty() {
            line.push_str(&format!(" Not found: {}.", missing.join(" ")));
        }
        line.trim().to_owned()
    }

    fn project(&self) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(repository::branch(&self.root).map(|branch| format!("Branch: {branch}.")));
        parts
            .extend(project::checks(&self.root).first().map(|check| format!("Tests: `{}`.", check.usable())));
        parts.extend(self.files());
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    fn files(&self) -> Option<String> {
        let walk = Walk::new(&self.root);
        let mut paths: Vec<String> = Vec::new();
        for entry in walk.sorted().filter(walk::is_file).take(FILES_LOOKED_AT) {
            let name = entry.path().strip_prefix(&*self.root).ok()?;
            let name = name.to_string_lossy();
            // A name that could pose as something else is left to LS.
            let is_plain = !name.contains(|c: char| c.is_control() || c.is_whitespace() || "<>`".contains(c));
            if is_plain && sanitize::deceptive(&name) == 0 {
                paths.push(name.into_owned());
            }
        }
        let all = paths.join(" ");
        match paths.len() {
            0 => Some("The folder is empty.".to_owned()),
            count if count <= FILES_LISTED && all.len() <= FILES_CHARS => Some(format!("Files: {all}")),
            count => {
                let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
                for path in &paths {
                    let top = path.split_once('/').map_or("", |(top, _)| top);
                    *folders.entry(top).or_default() += 1;
                }
                let mut rows: Vec<(&str, usize)> =
                    folders.into_iter().filter(|(top, _)| !top.is_empty()).collect();
                rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                rows.truncate(FOLDERS);
                let more = if count == FILES_LOOKED_AT { "more than " } else { "" };
                let shown: Vec<String> =
                    rows.iter().map(|(top, count)| format!("{top}/ ({count})")).collect();
                Some(format!("{more}{count} files: {}", shown.join(" ")))
            }
        }
    }
}

/// For a session's first message. Looks at the disk, off the async threads.
pub async fn block(task: &str, dispatcher: &Dispatcher, sub_agent: bool) -> Option<String> {
    let policy = &dispatcher.policy;
    let machine = Machine {
        root: Arc::clone(dispatcher.root()),
        task: task.to_owned(),
        headless: !dispatcher.interactive,
        offline: policy.confines(policy.permission()),
        sub_agent,
        deadline: dispatcher.cx.deadline,
    };
    let block = tokio::task::spawn_blocking(move || machine.block()).await.ok()?;
    Some(dispatcher.cx.redactor.redact(&block, TextSource::Text).into_owned())
}
