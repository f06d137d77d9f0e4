//! git's own options, before its subcommand: where it works and what it runs. Subcommands are rows of the table.

use std::path::PathBuf;

use super::assessment::{Assessment, Effect, Risk};
use super::interpret;
use crate::policy::path_scope::PathScope;
use crate::sandbox::git::arguments::{GitArguments, OWN_VALUED};
use crate::sandbox::git::guarded::GuardedPaths;
use crate::sandbox::git::preview;
use crate::sandbox::git::question::GitQuestion;
use crate::sandbox::git::settings::{self, WRITING};
use crate::shell::interpret::call::{Arg, Call};
use base::path;
use base::search::words::listed;

/// Settings that make git run nothing.
const HARMLESS_KEYS: &str = "color. advice. user.name user.email core.quotepath core.autocrlf core.abbrev core.safecrlf \
    diff.algorithm diff.renames diff.context diff.mnemonicprefix diff.noprefix init.defaultbranch log. grep. column. \
    status. commit.gpgsign tag.gpgsign merge.conflictstyle pull.rebase rebase.autosquash gc.auto safe.directory i18n. \
    core.commentchar core.filemode core.longpaths blame. branch.sort tag.sort versionsort. format. push.default";

/// Options without a value that run nothing and don't change the place.
const HARMLESS: &str = "--no-pager -P --no-optional-locks --literal-pathspecs --version --help -p --paginate";

pub fn assess(call: &Call, scope: &PathScope) -> Assessment {
    let args = call.args();
    let mut inside = call.clone();
    let mut result = Assessment::reads();
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.text.starts_with('-')) {
        let text = arg.text.as_str();
        let value = args.get(at + 1).and_then(Arg::certain);
        at += 1 + usize::from(listed(OWN_VALUED, text));
        match (text, value) {
            ("-C", Some(folder)) => {
                inside.folders = inside.folders.iter().map(|from| path::follow(&from.join(folder))).collect();
            }
            ("-C", None) => inside.folders.clear(),
            ("-c", Some(setting)) if is_harmless(setting) => {}
            ("-c", _) => {
                result.raise(unsure(format!("git runs with the setting `{}`", value.unwrap_or("?"))))
            }
            _ if listed(HARMLESS, text) => {}
            _ => result.raise(unsure(format!("git runs with the option {text}"))),
        }
    }
    let Some(sub) = args.get(at) else { return result };
    if sub.certain().is_none() {
        result.raise(unsure("can't tell what git does".to_owned()));
        return result;
    }
    inside.argv = std::iter::once(Arg::known("git")).chain(args[at..].iter().cloned()).collect();
    let is_plain = result.risk == Risk::Reads;
    let words: Option<Vec<String>> =
        inside.args().iter().map(|arg| arg.certain().map(str::to_owned)).collect();
    // If an argument is unknown, the git wrapper in the sandbox does the check.
    let certain = words.filter(|_| is_plain).and_then(|words| GitArguments::read(&words));
    let settings = certain.as_ref().and_then(|args| settings(&inside, args));
    if settings.is_some() && sub.certain() == Some("config") {
        let why = "changes the repository's settings, none that runs a program";
        result.raise(Assessment::new(Risk::Workspace, why).with(Effect::Write(".git/config".to_owned())));
    } else if let Some(found) = interpret::assess(&inside, scope) {
        result.raise(found);
    }
    result.settings = settings.unwrap_or_default();
    if let Some(args) = certain.filter(|_| (Risk::Workspace..=Risk::Unknown).contains(&result.risk)) {
        protected(&inside, &args, scope, &mut result);
    }
    if result.risk > Risk::Reads && inside.folders.is_empty() {
        result.raise(unsure("can't tell where git works".to_owned()));
    } else if result.risk > Risk::Reads
        && let Some(folder) = inside.folders.iter().find(|folder| !folder.starts_with(&scope.workspace))
    {
        let why = format!("git works in {}, outside the workspace", folder.display());
        let is_scratch = inside.folders.iter().all(|folder| scope.is_scratch(folder));
        result.raise(if is_scratch { unsure(why) } else { Assessment::new(Risk::Guarded, why) });
    }
    result
}

/// The configuration that git would write as a side effect or with harmless settings.
fn settings(call: &Call, args: &GitArguments) -> Option<Vec<PathBuf>> {
    let [folder] = &call.folders[..] else { return None };
    let git = GitQuestion::about(folder);
    let writes = WRITING.contains(&args.sub.as_str()) && settings::writes(&git, args) == Some(true);
    writes.then(|| settings::files(&git, args))
}

fn protected(call: &Call, args: &GitArguments, scope: &PathScope, result: &mut Assessment) {
    if !preview::may_change(&args.sub) {
        return;
    }
    let guarded = GuardedPaths::of_workspace(&scope.workspace, scope.home.as_deref());
    for folder in &call.folders {
        let git = GitQuestion::about(folder);
        let paths = preview::guarded_changes(&git, args, &guarded, b"");
        if paths.is_empty() {
            continue;
        }
        let outside = paths.iter().any(|path| guarded.is_outside(path));
        let risk = if outside { Risk::Guarded } else { Risk::Protected };
        let mut made =
            Assessment::new(risk, format!("`git {}` would change {}", args.sub, guarded.clause(&paths)));
        paths.iter().for_each(|path| made.add(Effect::Write(guarded.shown(path))));
        made.opens = paths;
        result.raise(made);
    }
}

fn unsure(why: String) -> Assessment {
    Assessment::new(Risk::Unknown, why).with(Effect::Run("git".to_owned()))
}

fn is_harmless(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let key = key.to_ascii_lowercase();
    let runs_value =
        matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor") || key.starts_with("pager.");
    let runs_nothing = ["", "cat", "true", "false", ":", "0", "1", "less"].contains(&value);
    HARMLESS_KEYS.split_whitespace().any(|harmless| key.starts_with(harmless))
        || (runs_value && runs_nothing)
        || (key == "core.fsmonitor" && value == "false")
        || (key == "core.hookspath" && value == "/dev/null")
}
