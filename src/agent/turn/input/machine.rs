//! What a new session's first message says about the machine and the project. Uses only files and `PATH`; starts no program.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::dispatcher::Dispatcher;
use base::deadline::Deadline;
use base::pattern::Pattern;
use base::process::{machine, programs, task};
use base::search::walk::{self, Walk};
use base::system::os;
use base::{repository, sanitize};
use guard::redact::detector::TextSource;
use tools::check::project;

const PROGRAMS: &str = "git gcc make cmake python3 pip uv node npm pnpm bun go cargo java mvn docker curl wget psql \
    sqlite3 tmux rg jq";
/// What calls for a program: a file in the root, a file extension, or a word of the task.
const CALLED_FOR: &str = include_str!("called_for.txt");
const INSTALLED: usize = 10;
const MISSING: usize = 8;
const FILES_LISTED: usize = 60;
const FILES_CHARS: usize = 1_600;
const FILES_LOOKED_AT: usize = 4_000;
const FOLDERS: usize = 16;

struct Machine {
    root: Arc<PathBuf>,
    task: String,
    headless: bool,
    /// Commands are confined without network access.
    offline: bool,
    /// A sub-agent gets only its folder and the date.
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
        let paths = self.paths();
        lines.extend(self.headless.then(|| self.programs(&paths)).filter(|line| !line.is_empty()));
        lines.extend(self.deadline.map(|deadline| format!("Time limit: {}.", deadline.limit_text())));
        lines.push(self.project(&paths));
        format!("<system-reminder>{}</system-reminder>", lines.join("\n"))
    }

    fn machine(&self) -> String {
        let mut parts = vec![format!("{} {}", machine::system(), std::env::consts::ARCH)];
        if self.headless && !self.sub_agent {
            parts.extend((os::user() == 0).then(|| "root".to_owned()));
            parts.push(format!("{} cores", machine::cores()));
            parts.extend(machine::memory().map(|bytes| format!("{} memory", machine::gib(bytes))));
            parts.extend(os::free_disk(&self.root).map(|bytes| format!("{} free disk", machine::gib(bytes))));
        }
        if programs::shell() != "bash" {
            parts.push("no bash: commands run in sh".to_owned());
        }
        if self.offline {
            parts.push("no network in commands".to_owned());
        }
        format!("{}.", parts.join(", "))
    }

    fn programs(&self, paths: &[String]) -> String {
        let words: HashSet<String> =
            self.task.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let endings: HashSet<&str> =
            paths.iter().filter_map(|path| Some(&path[path.rfind('.')?..])).collect();
        let is_there = |sign: &str| match sign.starts_with('.') {
            true => endings.contains(sign),
            false => words.contains(sign) || self.root.join(sign).exists(),
        };
        let rows = CALLED_FOR.lines().filter_map(|row| row.split_once(' '));
        let calls = rows.filter(|(_, signs)| signs.split(' ').any(is_there));
        let called_for: Vec<&str> = calls.map(|(program, _)| program).collect();
        let named = PROGRAMS.split(' ').filter(|name| words.contains(*name));
        let first: Vec<&str> = called_for.iter().copied().chain(named).collect();
        let rest = PROGRAMS.split(' ').filter(|name| !first.contains(name));
        let (mut installed, mut missing) = (Vec::new(), Vec::new());
        for name in first.iter().copied().chain(rest) {
            let list = if programs::is_installed(name) { &mut installed } else { &mut missing };
            if !list.contains(&name) {
                list.push(name);
            }
        }
        // Leave out what another program implies.
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

    fn project(&self, paths: &[String]) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(repository::branch(&self.root).map(|branch| format!("Branch: {branch}.")));
        parts
            .extend(project::checks(&self.root).first().map(|check| format!("Tests: `{}`.", check.usable())));
        parts.push(files(paths));
        parts.join(" ")
    }

    fn paths(&self) -> Vec<String> {
        let walk = Walk::new(&self.root);
        let files = walk.sorted().filter(walk::is_file).take(FILES_LOOKED_AT);
        let names = files.filter_map(|entry| {
            let name = entry.path().strip_prefix(&*self.root).ok()?.to_string_lossy().into_owned();
            // Leave out names that could imitate other text; LS can show them.
            let is_plain = !name.contains(|c: char| c.is_control() || c.is_whitespace() || "<>`".contains(c));
            (is_plain && sanitize::deceptive(&name) == 0).then_some(name)
        });
        names.collect()
    }
}

fn files(paths: &[String]) -> String {
    let all = paths.join(" ");
    match paths.len() {
        0 => "The folder is empty.".to_owned(),
        count if count <= FILES_LISTED && all.len() <= FILES_CHARS => format!("Files: {all}"),
        count => {
            // Show as many levels as keep the list short.
            let few = |folders: &BTreeMap<&str, usize>| folders.len() <= FOLDERS;
            let folders = [3, 2].map(|depth| folders(paths, depth)).into_iter().find(few);
            let folders = folders.unwrap_or_else(|| self::folders(paths, 1));
            let mut rows: Vec<(&str, usize)> = folders.into_iter().collect();
            rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            rows.truncate(FOLDERS);
            let more = if count == FILES_LOOKED_AT { "more than " } else { "" };
            let shown: Vec<String> = rows.iter().map(|(top, count)| format!("{top}/ ({count})")).collect();
            format!("{more}{count} files: {}", shown.join(" "))
        }
    }
}

/// The number of files below each folder, at most `depth` levels deep.
fn folders(paths: &[String], depth: usize) -> BTreeMap<&str, usize> {
    let mut folders = BTreeMap::new();
    for folder in paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.0)) {
        let end = folder.match_indices('/').nth(depth - 1).map_or(folder.len(), |(at, _)| at);
        *folders.entry(&folder[..end]).or_default() += 1;
    }
    folders
}

/// The block for a session's first message. Reads the disk off the async threads.
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
    let block = task::blocking(move || machine.block()).await.ok()?;
    Some(dispatcher.cx.redactor.redact(&block, TextSource::Text).into_owned())
}

/// The branch and the date, where they are no longer what the session was told.
pub fn news(told: &[Arc<str>], root: &Path) -> Vec<String> {
    static BRANCH: Pattern = Pattern::new(r"\bBranch: (\S+)\.");
    static DATE: Pattern = Pattern::new(r"\bToday: (\S+)\.");
    let starts = ["Workspace: ", "Time limit: ", "Branch: ", "Today: "];
    let ours = |block: &&Arc<str>| {
        block
            .strip_prefix("<system-reminder>")
            .is_some_and(|text| starts.iter().any(|start| text.starts_with(start)))
    };
    let last = |pattern: &Pattern| {
        told.iter().rev().filter(ours).find_map(|block| Some(pattern.captures(block)?.get(1)?.as_str()))
    };
    let branch = repository::branch(root).filter(|now| last(&BRANCH) != Some(&**now));
    let date = Some(jiff::Zoned::now().date().to_string()).filter(|now| last(&DATE) != Some(&**now));
    let branch = branch.map(|branch| format!("Branch: {branch}."));
    branch.into_iter().chain(date.map(|date| format!("Today: {date}."))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_listed_by_folders_as_deep_as_is_short() {
        let file = |folder: &str| (0..20).map(|n| format!("{folder}/f{n}.ts")).collect::<Vec<_>>();
        let deep = ["src/v4/core", "src/v4/core/tests", "src/v3", "docs"].map(file).concat();
        assert_eq!(files(&deep), "80 files: src/v4/core/ (40) docs/ (20) src/v3/ (20)");
        let many: Vec<String> = (0..FOLDERS + 1).flat_map(|n| file(&format!("src/p{n}/lib"))).collect();
        assert_eq!(files(&many), "340 files: src/ (340)");
    }
}
