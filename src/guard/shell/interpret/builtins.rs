//! What the shell's builtins do to the shell itself.

use super::call::{Arg, Call};
use super::variables::ShellState;
use super::wrappers::assigned;

/// Applies a builtin to `state`; `feed` are the names on its input. Returns the words that it evaluates.
pub fn run(call: &Call, state: &mut ShellState, feed: Option<&[Arg]>) -> Vec<Arg> {
    let mut argv = call.argv.as_slice();
    // `command` and `builtin` only change which program is meant.
    while let [first, rest @ ..] = argv
        && matches!(first.text.as_str(), "command" | "builtin")
        && !rest.is_empty()
    {
        argv = &rest[usize::from(matches!(rest[0].text.as_str(), "-p" | "--"))..];
    }
    let Some((name, args)) = argv.split_first() else { return Vec::new() };
    let operands = || args.iter().filter(|arg| !arg.text.starts_with('-') || arg.text == "-");
    match name.text.as_str() {
        "cd" | "pushd" => match operands().next() {
            Some(folder) if args.iter().all(|arg| !arg.front_is_open()) => state.enter(folder),
            None if name.text == "cd" && args.is_empty() => match state.get("HOME") {
                Some(home) => state.enter(&home),
                None => state.folders.clear(),
            },
            _ => state.folders.clear(),
        },
        "popd" => state.folders.clear(),
        "export" | "declare" | "local" | "readonly" | "typeset" => {
            for (name, value) in &call.assignments {
                state.set(name, value.open_at.is_none().then(|| value.clone()));
            }
            for (name, value) in args.iter().filter_map(assigned) {
                state.set(&name, value.certain().map(Arg::known));
            }
            // `declare -n` makes one name refer to another, `-i` evaluates text as arithmetic.
            if args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains(['n', 'i'])) {
                state.forget_variables();
            }
            return args.to_vec();
        }
        builtin @ ("read" | "mapfile" | "readarray" | "getopts" | "unset") => {
            let one = feed.filter(|feed| {
                builtin == "read" && feed.len() == 1 && operands().count() == 1 && call.files.is_empty()
            });
            for arg in operands() {
                match arg.certain() {
                    Some(name) => {
                        state.set(name, one.map(|feed| feed[0].clone()));
                        if builtin == "unset" {
                            state.undefine(name);
                        }
                    }
                    None => state.forget_variables(),
                }
            }
            return operands().filter(|arg| arg.certain().is_some()).cloned().collect();
        }
        "let" => {
            state.forget_variables();
            return args.to_vec();
        }
        "printf" if args.first().is_some_and(|arg| arg.text.starts_with("-v")) => {
            state.forget_variables();
            return args.to_vec();
        }
        "source" | "." => state.forget(),
        _ => {}
    }
    Vec::new()
}
