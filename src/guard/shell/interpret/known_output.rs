//! The output of some programs, if known without running them: folders, and file names below a place.

use super::call::{Arg, Call};
use super::variables::ShellState;
use super::wrappers::{below, finds};
use base::repository;

pub fn text(call: &Call, state: &ShellState) -> Option<Arg> {
    let args: Option<Vec<&str>> = call.args().iter().map(Arg::certain).collect();
    match (call.name(), args?.as_slice()) {
        ("pwd", _) => state.get("PWD"),
        ("echo", words) if words.first().is_some_and(|word| !word.starts_with('-')) => {
            Some(Arg::known(words.join(" "))).filter(|arg| !arg.text.contains('\\'))
        }
        ("git", ["rev-parse", "--show-toplevel"]) => match state.folders.as_slice() {
            [one] => repository::root(one).map(|folder| Arg::known(folder.to_string_lossy())),
            _ => None,
        },
        // A commit or branch name doesn't start with a dash and can't be a path.
        ("git", ["rev-parse" | "merge-base" | "describe", rest @ ..])
            if rest.iter().all(|arg| is_revision(arg)) =>
        {
            Some(Arg::known("$(git)"))
        }
        ("nproc" | "whoami" | "hostname" | "arch", []) => Some(Arg::known(format!("$({})", call.name()))),
        ("date", [format])
            if format.starts_with('+')
                && format.chars().skip(1).all(|c| c.is_alphanumeric() || "%_:".contains(c)) =>
        {
            Some(Arg::known("$(date)"))
        }
        _ => {
            // File names, one per line; an unquoted substitution splits them.
            let names = names(call, None)?;
            let certain: Option<Vec<&str>> = names.iter().map(Arg::certain).collect();
            Some(Arg::known(certain.filter(|names| !names.is_empty())?.join(" ")))
        }
    }
}

/// Also accepts options that don't print their argument.
fn is_revision(arg: &str) -> bool {
    matches!(arg, "--short" | "--abbrev-ref" | "--verify" | "--tags" | "--always" | "-q")
        || !arg.starts_with(['-', '/', '.', '~'])
            && !arg.contains("..")
            && arg.chars().all(|c| c.is_alphanumeric() || "/_.~^@{}-".contains(c))
}

/// Files whose names it prints, as places; `None` if they may be anything. `fed` are the names on its input.
pub fn names(call: &Call, fed: Option<&[Arg]>) -> Option<Vec<Arg>> {
    if !call.files.iter().all(|file| file.target.text == "/dev/null") {
        return None;
    }
    let args = call.args();
    let here = || vec![Arg::known("./{}")];
    let option = |short: char, long: &str| {
        args.iter().any(|arg| {
            arg.text == long
                || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(short))
        })
    };
    let operands: Vec<&Arg> = args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    match call.name() {
        "find" => {
            let prints_more = args.iter().any(|arg| arg.text.contains("printf"));
            (!prints_more).then(|| finds(args))
        }
        "git" => match args.first().map(|arg| arg.text.as_str()) {
            Some("ls-files" | "diff") if !option('p', "--patch") => Some(here()),
            Some("grep") if option('l', "--files-with-matches") => Some(here()),
            _ => None,
        },
        "rg" | "grep" | "egrep" | "fgrep" => {
            let lists = option('l', "--files-with-matches") || option('L', "--files-without-match");
            let files = args.iter().any(|arg| arg.text == "--files");
            let skip = usize::from(!files);
            let places: Vec<Arg> = operands.iter().skip(skip).map(|arg| below(arg)).collect();
            if !lists && !files && operands.len() <= 1 {
                return fed.map(<[Arg]>::to_vec);
            }
            (lists || files).then(|| if places.is_empty() { here() } else { places })
        }
        "fd" | "fdfind" => {
            let places: Vec<Arg> = operands.iter().skip(1).map(|arg| below(arg)).collect();
            Some(if places.is_empty() { here() } else { places })
        }
        "ls" if operands.is_empty() => Some(here()),
        "echo" | "printf" => {
            let words = if call.name() == "printf" { args.get(1..)? } else { args };
            words
                .iter()
                .all(|arg| arg.certain().is_some())
                .then(|| words.iter().flat_map(|arg| arg.text.split_whitespace()).map(Arg::known).collect())
        }
        "head" | "tail" | "sort" | "uniq" | "shuf" if operands.iter().all(|arg| is_number(&arg.text)) => {
            fed.map(<[Arg]>::to_vec)
        }
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
