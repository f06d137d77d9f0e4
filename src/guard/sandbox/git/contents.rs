//! Git commands that show or copy committed files without naming them; rules about a file apply to these as well.

use std::path::Path;

use super::arguments::GitArguments;
use crate::sandbox::rule_pattern::{base, is_about_path};
use base::search::words::listed;
use base::{file, git_index, path, repository};

const WHOLE_FILES: &str = "cat-file checkout-index clone fast-export unpack-file worktree";
const CHANGES: &str = "archive show diff difftool diff-tree diff-index diff-files range-diff format-patch";
/// These show changes only if an option says so.
const COMMITS: &str = "log reflog stash whatchanged";
const PATCH: &str = "-p -u --patch --patch-with-stat --binary --cc -c -m";
/// Options to show only names and figures.
const NAMES: &str = "--stat --shortstat --numstat --summary --name-only --name-status --dirstat --raw --quiet -s \
    --no-patch -t -e --batch-check";
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// Whether it may show a matching file from the repository of `workspace`.
pub fn shows(pattern: &str, args: &GitArguments, workspace: &Path) -> bool {
    let has = |list: &str| args.rest.iter().any(|word| listed(list, word.split('=').next().unwrap_or(word)));
    let words = args.words();
    let shows = match args.sub.as_str() {
        "worktree" => words.first() == Some(&"add"),
        "grep" => has("--cached") || words.get(1).is_some_and(|word| !workspace.join(word).exists()),
        "clone" => words.iter().any(|word| workspace.join(word).exists()),
        sub if listed(WHOLE_FILES, sub) => !has(NAMES),
        sub if listed(CHANGES, sub) => !has(NAMES) || has(PATCH),
        sub => listed(COMMITS, sub) && has(PATCH),
    };
    let takes_paths = !listed(WHOLE_FILES, &args.sub);
    let others = || args.sub == "show" && names_others(pattern, &words, workspace);
    shows
        && !(takes_paths && leaves_out(pattern, args, workspace) || others())
        && is_committed(pattern, workspace)
}

/// Whether words such as `HEAD:src/a.py` name only files that don't match, or folders, of which git just lists the names.
fn names_others(pattern: &str, words: &[&str], workspace: &Path) -> bool {
    let top = repository::root(workspace).unwrap_or(workspace);
    let is_other = |word: &&str| {
        word.split_once(':').is_some_and(|(_, path)| {
            let plain = !path.is_empty() && !path.starts_with('.') && !path.contains(':');
            plain
                && ![top, workspace]
                    .iter()
                    .any(|folder| is_about_path(pattern, &folder.join(path), workspace))
        })
    };
    !words.is_empty() && words.iter().all(is_other)
}

/// Whether pathspecs exclude matching files: because they name only others, or with `:(exclude)` and its short forms.
fn leaves_out(pattern: &str, args: &GitArguments, workspace: &Path) -> bool {
    let base = base(pattern, workspace);
    let whole = |text: &str| text.trim_end_matches("**").trim_end_matches('/').to_owned();
    let covers = |word: &str| {
        whole(word) == whole(pattern)
            || !word.is_empty() && base.starts_with(path::resolve(workspace, &whole(word)).canonical)
    };
    let is_excluding = |word: &&str| [":(exclude)", ":!", ":^"].iter().any(|mark| word.starts_with(mark));
    // Without `--`, git treats existing names as paths.
    let may_be_paths = listed(CHANGES, &args.sub) || args.sub == "log";
    let there = args.words().into_iter().filter(|word| may_be_paths && workspace.join(word).exists());
    let specs = there.chain(args.paths().unwrap_or_default().iter().map(String::as_str));
    let (not, only): (Vec<&str>, Vec<&str>) = specs.partition(is_excluding);
    let bare =
        |word: &&str| word.trim_start_matches(":(exclude)").trim_start_matches([':', '!', '^']).to_owned();
    not.iter().map(bare).any(|word| covers(&word))
        || !only.is_empty() && base != workspace && !only.iter().any(|word| covers(word))
}

/// Whether the repository tracks such a file; assumed if the index can't be read.
fn is_committed(pattern: &str, workspace: &Path) -> bool {
    let Some(top) = repository::root(workspace) else { return false };
    let Some(index) = repository::git_folder(top).map(|git| git.join("index")) else { return false };
    let Ok((index, _)) = file::read(&index, MAX_INDEX) else { return index.exists() };
    let mut found = false;
    let parsed =
        git_index::parse(&index, |path, _| found |= is_about_path(pattern, &top.join(path), workspace));
    found || parsed.is_none()
}
