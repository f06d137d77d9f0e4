//! Git commands that show or copy committed files without naming them; rules about a file apply to these as well. What
//! isn't known to show only names counts as showing contents.

use std::path::{Path, PathBuf};

use super::arguments::GitArguments;
use crate::sandbox::rule_pattern::{WILDCARDS, base, is_about_path};
use base::search::glob::like;
use base::search::words::listed;
use base::{file, git_index, path, repository};

const WHOLE_FILES: &str =
    "bundle checkout-index commit-tree daemon fast-export mktree read-tree unpack-file upload-archive";
const CHANGES: &str = "archive show diff difftool diff-tree diff-index diff-files range-diff format-patch";
/// These show changes only if an option says so.
const COMMITS: &str = "log reflog shortlog whatchanged";
/// They write into a work tree, which may be another one.
const WRITING: &str = "checkout merge pull rebase reset restore stash switch";
const CHOOSING: &str = "add checkout commit reset restore stash";
/// Options to show only names and figures.
const NAMES: &str = "--compact-summary --dirstat --name-only --name-status --no-patch --numstat --quiet --raw \
    --shortstat --stat --summary -s";
/// Other options of `log`, `show` and `diff` that add no contents; git-log(1) and git-diff(1) of git 2.47.
const HARMLESS: &str = "--abbrev --abbrev-commit --after --all --all-match --ancestry-path --author --author-date-order \
    --before --boundary --branches --cached --cherry --cherry-mark --cherry-pick --color --column --committer --count \
    --cumulative --date --date-order --decorate --decorate-refs --decorate-refs-exclude --dense --diff-filter --do-walk --end-of-options --exclude \
    --exit-code --extended-regexp --find-copies --find-renames --first-parent --fixed-strings --follow --format \
    --full-history --full-index --glob --graph --grep --histogram --ignore-submodules --ignore-all-space --ignore-blank-lines \
    --ignore-space-change --invert-grep --left-only --left-right --log-size --mailmap --max-count --max-parents --merge-base \
    --merges --min-parents --minimal --no-abbrev --no-abbrev-commit --no-color --no-decorate --no-ext-diff --no-mailmap \
    --no-merges --no-notes --no-prefix --no-renames --no-textconv --no-walk --not --oneline --parents --patience \
    --perl-regexp --pickaxe-all --pickaxe-regex --pretty --reflog --regexp-ignore-case --relative --remotes --reverse \
    --right-only --root --show-signature --simplify-by-decoration --since --skip --source --staged --tags --text \
    --topo-order --until --walk-reflogs -E -F -P -R -a -b -g -i -n -q -r -w -z";
const JOINED: [&str; 6] = ["-S", "-G", "-n", "-M", "-C", "-B"];
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// The work tree that git's variables or `--git-dir` give it when it starts in `folder`, as an option.
pub fn given_tree(
    args: &[String],
    folder: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let names_git = || args.iter().any(|word| name_of(word) == "--git-dir") || variable("GIT_DIR").is_some();
    let tree = variable("GIT_WORK_TREE").or_else(|| names_git().then(|| ".".to_owned()))?;
    Some(format!("--work-tree={}", folder.join(tree).display()))
}

/// Whether the repository's own files hold a matching one: a program may read them as git does.
pub fn is_in_objects(pattern: &str, args: &[String], workspace: &Path) -> bool {
    args.iter().any(|word| word.contains(".git/objects")) && !tracked(pattern, workspace).is_empty()
}

/// Whether it may show a matching file from the repository of `workspace`.
pub fn shows(pattern: &str, args: &GitArguments, workspace: &Path) -> bool {
    if !may_show(args, workspace) || args.sub == "show" && names_others(pattern, &args.words(), workspace) {
        return false;
    }
    let takes_paths = (listed(CHANGES, &args.sub) || args.sub == "log") && !args.has("--full-diff");
    tracked(pattern, workspace).iter().any(|path| !takes_paths || selects(args, workspace, path))
}

fn may_show(args: &GitArguments, workspace: &Path) -> bool {
    let words = args.words();
    let first = words.first().copied().unwrap_or_default();
    let is_there = |word: &&str| workspace.join(word.trim_start_matches("file://")).exists();
    match args.sub.as_str() {
        "cat-file" => !args.rest.first().is_some_and(|word| listed("-e -s -t --batch-check", name_of(word))),
        "clone" => words.iter().any(is_there),
        "fetch" | "pull" => {
            let (folder, top) =
                (folder_of(args, workspace), repository::root(workspace).unwrap_or(workspace));
            let sources = words.iter().map(|word| path::resolve(&folder, word).canonical);
            sources.into_iter().any(|source| source == top || source == top.join(".git"))
        }
        "grep" => {
            let pattern = usize::from(!args.has("-e -f"));
            args.has("--cached") || words.iter().skip(pattern).any(|word| !is_there(word))
        }
        "stash" if matches!(first, "list" | "show") => !is_harmless(args),
        "update-index" => args.has("--cacheinfo --index-info"),
        "worktree" => first == "add",
        sub if listed(WHOLE_FILES, sub) => true,
        "archive" | "difftool" | "format-patch" => true,
        sub if listed(CHANGES, sub) => !names_only(args) || !is_harmless(args),
        sub if listed(COMMITS, sub) => !is_harmless(args),
        sub => {
            let is_verbose = matches!(sub, "commit" | "status") && args.has("-v --verbose");
            let chooses = listed(CHOOSING, sub) && args.has("-p --patch --interactive");
            is_verbose || chooses || listed(WRITING, sub) && has_other_tree(args, workspace)
        }
    }
}

fn names_only(args: &GitArguments) -> bool {
    args.rest.iter().any(|word| listed(NAMES, name_of(word)))
}

fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn is_harmless(args: &GitArguments) -> bool {
    let options = args.rest.iter().take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
    options.map(|word| word.as_str()).all(|word| {
        // With names, it only says which of a merge's.
        let of_merges = word.starts_with("--diff-merges=") && names_only(args);
        let figures = word.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        let joined = !word.starts_with("--") && JOINED.iter().any(|short| word.starts_with(short));
        of_merges || figures || joined || [NAMES, HARMLESS].iter().any(|list| listed(list, name_of(word)))
    })
}

fn has_other_tree(args: &GitArguments, workspace: &Path) -> bool {
    let folder = folder_of(args, workspace);
    let values = args.own.iter().enumerate().filter_map(|(at, word)| match word.split_once('=') {
        Some(("--work-tree" | "core.worktree", value)) => Some(value),
        None if word == "--work-tree" => args.own.get(at + 1).map(String::as_str),
        _ => None,
    });
    let top = repository::root(workspace).unwrap_or(workspace);
    values.into_iter().any(|value| path::resolve(&folder, value).canonical != top)
}

fn folder_of(args: &GitArguments, workspace: &Path) -> PathBuf {
    let values = args.own.windows(2).filter(|pair| pair[0] == "-C").map(|pair| &pair[1]);
    values.fold(workspace.to_owned(), |folder, value| folder.join(value))
}

/// Whether words such as `HEAD:src/a.py` name only files that don't match, or folders, of which git just lists the names.
fn names_others(pattern: &str, words: &[&str], workspace: &Path) -> bool {
    let top = repository::root(workspace).unwrap_or(workspace);
    let is_other = |word: &&str| {
        word.split_once(':').is_some_and(|(_, path)| {
            // `:/text` is a commit.
            let plain = path.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !path.contains(':');
            plain
                && ![top, workspace]
                    .iter()
                    .any(|folder| is_about_path(pattern, &folder.join(path), workspace))
        })
    };
    !words.is_empty() && words.iter().all(is_other)
}

/// Whether the pathspecs leave the file in: none names others, and none excludes it.
fn selects(args: &GitArguments, workspace: &Path, denied: &Path) -> bool {
    let folder = folder_of(args, workspace);
    // Without `--`, git treats existing names as paths.
    let there = args.words().into_iter().filter(|word| folder.join(word).exists());
    let specs = there.chain(args.paths().unwrap_or_default().iter().map(String::as_str));
    let literal = args.own.iter().any(|word| word == "--literal-pathspecs");
    let excluded = |word: &str| {
        let marks = [":(exclude)", ":!", ":^"];
        marks.iter().find_map(|mark| word.strip_prefix(mark)).filter(|_| !literal).map(str::to_owned)
    };
    let (not, only): (Vec<&str>, Vec<&str>) = specs.partition(|word| excluded(word).is_some());
    let covers = |word: &str, unknown: bool| {
        let whole = word.trim_end_matches("**").trim_end_matches('/');
        match whole.strip_prefix("./").unwrap_or(whole) {
            // Other marks that git understands.
            _ if word.starts_with([':', '(']) || word.contains(['?', '[', '\\']) => unknown,
            plain if !plain.contains(WILDCARDS) => {
                denied.starts_with(path::resolve(&folder, plain).canonical)
            }
            glob => denied.strip_prefix(&folder).map_or(unknown, |denied| {
                let denied = denied.to_string_lossy();
                // There, `*` also crosses folders.
                like(glob, &denied) || like(&format!("{glob}/*"), &denied)
            }),
        }
    };
    (only.is_empty() || only.iter().any(|word| covers(word, true)))
        && !not.iter().any(|word| excluded(word).is_some_and(|word| covers(&word, false)))
}

/// The matching files that the repository tracks; the pattern's own folder if the index can't be read.
fn tracked(pattern: &str, workspace: &Path) -> Vec<PathBuf> {
    let Some(top) = repository::root(workspace) else { return Vec::new() };
    let Some(index) = repository::git_folder(top).map(|git| git.join("index")) else { return Vec::new() };
    let unknown = || vec![base(pattern, workspace)];
    let Ok((bytes, _)) = file::read(&index, MAX_INDEX) else {
        return if index.exists() { unknown() } else { Vec::new() };
    };
    let mut found = Vec::new();
    let parsed = git_index::parse(&bytes, |path, _| {
        let path = top.join(path);
        if is_about_path(pattern, &path, workspace) {
            found.push(path);
        }
    });
    if parsed.is_some() { found } else { unknown() }
}
