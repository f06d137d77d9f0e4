//! Sub-commands of `git` that list or change by their options: which of the two it is.

use super::options;
use crate::shell::interpret::call::Arg;

/// Whether `git branch` only lists.
pub fn lists_branches(args: &[Arg]) -> bool {
    let changing = options::has(
        args,
        &[
            "-d",
            "-D",
            "-m",
            "-M",
            "-c",
            "-C",
            "-u",
            "-f",
            "--delete",
            "--move",
            "--copy",
            "--set-upstream-to",
            "--unset-upstream",
            "--edit-description",
            "--force",
            "--track",
        ],
    );
    let showing = options::has(
        args,
        &[
            "--list",
            "--show-current",
            "--contains",
            "--merged",
            "--no-merged",
            "--points-at",
            "--sort",
            "--format",
        ],
    ) || args
        .iter()
        .any(|arg| matches!(arg.text.as_str(), "-a" | "-r" | "-v" | "-vv" | "-l" | "-av" | "-ra" | "-avv"));
    let words = args.iter().filter(|arg| !arg.text.starts_with('-')).count();
    // Long options may begin alike: `--contains` is not `-c`.
    let short_only = args.iter().filter(|arg| !arg.text.starts_with("--")).any(|arg| {
        arg.text.starts_with('-') && arg.text.contains(['d', 'D', 'm', 'M', 'c', 'C', 'u', 'f', 't'])
    });
    !short_only
        && (!changing || showing)
        && (words == 0
            || options::has(
                args,
                &["--list", "--contains", "--merged", "--no-merged", "--points-at", "--sort", "--format"],
            ))
}

/// Whether `git config` only reads.
pub fn reads_config(args: &[Arg]) -> bool {
    let words: Vec<&str> = options::operands(args, &["--file", "-f", "--blob", "--type", "--default"])
        .iter()
        .map(|arg| arg.text.as_str())
        .collect();
    let asks = args.iter().any(|arg| {
        matches!(
            arg.text.as_str(),
            "--get"
                | "--get-all"
                | "--list"
                | "-l"
                | "--get-regexp"
                | "--get-urlmatch"
                | "--show-origin"
                | "--get-color"
        )
    });
    let changes = options::has(
        args,
        &[
            "--add",
            "--unset",
            "--unset-all",
            "--replace-all",
            "--rename-section",
            "--remove-section",
            "--edit",
        ],
    ) || args.iter().any(|arg| arg.text == "-e");
    !changes
        && (asks
            || words.len() == 1 && !matches!(words[0], "edit" | "set" | "unset")
            || matches!(words.first(), Some(&("get" | "list"))))
}
