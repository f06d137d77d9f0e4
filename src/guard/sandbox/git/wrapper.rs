//! The `git` that sandboxed commands find first: it runs the real one only if the predicted changes are
//! allowed. Not a security boundary (mounts and the guard are), but it prevents git from stopping halfway.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::arguments::GitArguments;
use super::contents;
use super::guarded::GuardedPaths;
use super::preview;
use super::question::GitQuestion;
use super::settings::{self, WRITING};
use crate::sandbox::denied_starts;
use crate::sandbox::launch;
use crate::sandbox::protected_paths::IN_GIT;
use crate::sandbox::spec::{RawPath, SandboxSpec};
use base::file;
use base::process::programs::{self, is_executable};
use base::system::os;

pub const NAME: &str = "__git";
/// In the session's private folder.
pub const FOLDER: &str = "bin";
/// The exit code of git's own fatal errors.
const REFUSED: i32 = 128;
const MAX_ALIASES: usize = 8;
/// Limit for the list of guarded paths.
const MAX_LIST: u64 = 4 * 1024 * 1024;
/// Puts the wrapper first in the path. If that fails, commands find the real git.
pub fn install(spec: &mut SandboxSpec) {
    let Ok(text) = serde_json::to_string(&guarded(spec)) else { return };
    let (Some(path), Ok(helper)) = (std::env::var("PATH").ok(), helper()) else { return };
    let Some(real) = find_git(&path) else { return };
    let folder = spec.private.join(FOLDER).join(file::hash(text.as_bytes()));
    let made = make(&folder, &text, &real, &helper);
    let Ok(folder) = made.and_then(|()| folder.canonicalize()) else { return };
    let shown = folder.display();
    spec.environment.retain(|(name, _)| name != "PATH");
    spec.environment.push(("PATH".to_owned(), Some(format!("{shown}:{path}"))));
    let hidden =
        spec.hidden_folders.iter().chain(&spec.temporary).any(|hidden| helper.starts_with(&hidden.0));
    let in_sight = spec.visible.iter().chain(&spec.writable).any(|seen| helper.starts_with(&seen.0));
    if hidden && !in_sight {
        spec.visible.push(helper.into());
    }
    spec.visible.push(folder.into());
}

fn guarded(spec: &SandboxSpec) -> GuardedPaths {
    let nested = spec.nested.iter().flat_map(|git| IN_GIT.iter().map(|name| RawPath(git.join(name))));
    GuardedPaths {
        workspace: spec.workspace.clone(),
        writable: spec.writable.clone(),
        protected: spec.protected.iter().cloned().chain(nested).collect(),
        opened: spec.opened.clone(),
        masks: spec.masks.clone(),
    }
}

/// Our program's path: in the sandbox, `/proc/self/exe` is another program.
fn helper() -> io::Result<PathBuf> {
    let helper = launch::helper()?;
    if helper == Path::new("/proc/self/exe") { programs::own() } else { helper.canonicalize() }
}

fn find_git(path: &str) -> Option<PathBuf> {
    let mut found =
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("git"));
    // In a sandbox, its wrapper comes first.
    found.find(|path| is_executable(path) && !path.with_file_name("guarded.json").exists())
}

fn make(folder: &Path, list: &str, real: &Path, helper: &Path) -> io::Result<()> {
    let program = folder.join("git");
    if program.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let at = folder.join("guarded.json");
    fs::write(&at, list)?;
    // An alias can't replace git's own commands.
    let own = GitQuestion::in_place_of(real, &[]).line(&["--list-cmds=builtins"]).unwrap_or_default();
    let unchecked = own.lines().filter(|sub| !is_checked(sub));
    let direct = std::iter::once("--version").chain(unchecked).collect::<Vec<_>>().join("|");
    let [real, helper, at] = [real, helper, &at].map(quoted);
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in {direct}) exec {real} \"$@\" ;; esac\n[ -x {helper} ] || exec {real} \"$@\"\nexec {helper} {NAME} {real} {at} \"$@\"\n"
    );
    let unready = folder.join(format!("git-{:08x}", fastrand::u32(..)));
    fs::write(&unready, script)?;
    os::set_mode(&unready, 0o755)?;
    fs::rename(unready, program)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// `args` are the real git, the list of guarded paths, and git's arguments.
pub fn run(args: Vec<OsString>) -> ! {
    let [real, list, rest @ ..] = &args[..] else { std::process::exit(REFUSED) };
    if let Some(why) = refusal(Path::new(real), Path::new(list), rest) {
        let _ = writeln!(io::stderr(), "mycode: {why}");
        std::process::exit(REFUSED);
    }
    let error = os::become_program(Command::new(real).args(rest));
    let _ = writeln!(io::stderr(), "mycode: git could not be started: {error}");
    std::process::exit(REFUSED)
}

fn refusal(real: &Path, list: &Path, rest: &[OsString]) -> Option<String> {
    let words: Vec<String> =
        rest.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    let mut args = GitArguments::read(&words)?;
    let guarded: GuardedPaths = serde_json::from_slice(&file::read(list, MAX_LIST).ok()?.0).ok()?;
    let git = GitQuestion::in_place_of(real, &args.own);
    expand_alias(&git, &mut args);
    // The call itself is checked when it starts, but not what an alias stands for.
    let meant = [&args.own, &[args.sub.clone()][..], &args.rest].concat();
    let tree = || contents::given_tree(&args.own, Path::new(""), |name| std::env::var(name).ok());
    if let Some(rule) = denied_starts::rule_against(&guarded.masks, &["git".to_owned()], &meant, tree) {
        return Some(denied_starts::told(&rule, &format!("git {}", meant.join(" "))));
    }
    let written = format!("git {}", args.sub);
    if WRITING.contains(&args.sub.as_str()) && settings::writes(&git, &args) != Some(false) {
        let held: Vec<PathBuf> =
            settings::files(&git, &args).into_iter().filter(|path| guarded.hold(path)).collect();
        if !held.is_empty() {
            return Some(not_run(&written, &guarded.clause(&held[..1])));
        }
    }
    let plans = if args.sub == "pull" { pulled(real, &args)? } else { vec![args] };
    if plans.iter().all(|args| !preview::may_change(&args.sub)) {
        return None;
    }
    let input = plans.first().and_then(input).unwrap_or_default();
    // Otherwise files that were only touched would count as changed.
    let _ = git.ask(&["update-index", "-q", "--refresh"]);
    let found = plans.iter().flat_map(|args| preview::guarded_changes(&git, args, &guarded, &input));
    let paths = Vec::from_iter(found.collect::<BTreeSet<PathBuf>>());
    (!paths.is_empty()).then(|| not_run(&written, &guarded.clause(&paths)))
}

fn not_run(written: &str, what: &str) -> String {
    format!(
        "`{written}` would change {what}, so it was not run and nothing has changed. Run the git command on its own, with its \
         arguments written out: then it can be allowed, or the user is asked"
    )
}

fn is_checked(sub: &str) -> bool {
    preview::may_change(sub) || WRITING.contains(&sub) || sub == "pull"
}

fn expand_alias(git: &GitQuestion, args: &mut GitArguments) {
    for _ in 0..MAX_ALIASES {
        if is_checked(&args.sub) {
            return;
        }
        let Some(meaning) = git.line(&["config", "--get", &format!("alias.{}", args.sub)]) else { return };
        let mut words = meaning.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
        let Some(sub) = words.next().filter(|sub| !sub.starts_with('!')) else { return };
        args.rest = words.chain(args.rest.drain(..)).collect();
        args.sub = sub;
    }
}

/// Fetches first, because a pull's changes are known only then.
fn pulled(real: &Path, args: &GitArguments) -> Option<Vec<GitArguments>> {
    let fetched = Command::new(real).args(&args.own).args(["fetch", "--quiet"]).args(args.words()).status();
    fetched.ok().filter(std::process::ExitStatus::success)?;
    let plan =
        |sub: &str| GitArguments { sub: sub.to_owned(), rest: vec!["FETCH_HEAD".to_owned()], ..args.clone() };
    let git = GitQuestion::in_place_of(real, &args.own);
    let set = git.line(&["config", "--get", "pull.rebase"]).is_some_and(|value| value != "false");
    let mut plans = vec![plan("merge")];
    plans.extend((set || args.has("-r --rebase")).then(|| plan("rebase")));
    Some(plans)
}

/// Reads a patch from standard input and puts it back for git.
fn input(args: &GitArguments) -> Option<Vec<u8>> {
    let reads = matches!(args.sub.as_str(), "am" | "apply") && args.words().iter().all(|word| *word == "-");
    if !reads || args.paths().is_some_and(|paths| !paths.is_empty()) || io::stdin().is_terminal() {
        return None;
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).ok()?;
    again(&bytes).ok()?;
    Some(bytes)
}

fn again(bytes: &[u8]) -> io::Result<()> {
    let mut file = launch::unnamed_file()?;
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    os::read_from(&file)
}
