//! `sed` and `awk` as filters: their scripts and files found among their words.

use super::assessment::{Assessment, Effect};
use super::options;
use super::path_effects::reading;
use super::sed_awk::{self, Sed};
use crate::policy::path_scope::PathScope;
use crate::shell::interpret::call::{Arg, Call};

/// `sed` and `awk` where their script only prints.
pub fn judge(call: &Call, place: &PathScope) -> Option<Assessment> {
    let name = call.name();
    let args = call.args();
    let awk = matches!(name, "awk" | "gawk" | "mawk" | "nawk");
    let files: Vec<&Arg> = match name {
        "sed" | "gsed" => {
            let in_place = args.iter().any(|arg| {
                options::is(&arg.text, "--in-place")
                    || (arg.text.starts_with('-')
                        && !arg.text.starts_with("--")
                        && arg.text.contains(['i', 's', 'f']))
                    || options::is(&arg.text, "--file")
            });
            if in_place || !sed_is_tame(call) {
                return None;
            }
            let skip = usize::from(!expressed(args));
            options::operands(args, &["-e", "--expression", "-l"]).into_iter().skip(skip).collect()
        }
        _ if awk => {
            let words = options::operands(args, &["-F", "-v", "--field-separator", "--assign"]);
            let tame = args.iter().filter(|arg| arg.text.starts_with('-')).all(|arg| {
                arg.text.starts_with("-F")
                    || arg.text.starts_with("-v")
                    || arg.text == "--"
                    || arg.text == "-"
            });
            let (program, files) = words.split_first()?;
            if !tame || !program.certain().is_some_and(sed_awk::awk_looks) {
                return None;
            }
            files.to_vec()
        }
        _ => return None,
    };
    let mut finding = Assessment::looks();
    for file in files {
        // `name=value` between the files of awk is an assignment.
        finding.raise(reading(file, call, place, false).with(Effect::Read(file.text.clone())));
    }
    Some(finding)
}

fn expressed(args: &[Arg]) -> bool {
    args.iter().any(|arg| {
        arg.text.starts_with("--expression")
            || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('e'))
    })
}

/// Whether every script of a `sed` call is certain and only edits text.
pub fn sed_is_tame(call: &Call) -> bool {
    let args = call.args();
    if !args.iter().all(|arg| !arg.front_is_open()) || options::has(args, &["--file"]) {
        return false;
    }
    let given = expressed(args);
    let mut seen = false;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && !rest.is_empty());
        let script = if let Some(value) = text.strip_prefix("--expression=") {
            Some(Arg { text: value.to_owned(), ..arg.clone() })
        } else if letters.is_some_and(|letters| letters.contains('f'))
            && !letters.is_some_and(|letters| letters.starts_with('i'))
        {
            return false;
        } else if letters.is_some_and(|letters| letters.ends_with('e') && !letters.starts_with('i'))
            || text == "--expression"
        {
            at += 1;
            args.get(at).cloned()
        } else if let Some(letters) = letters {
            match letters.split_once('e') {
                Some((front, rest)) if front.chars().all(|c| "nErsuz".contains(c)) => Some(Arg::known(rest)),
                _ => None,
            }
        } else if !given && !seen && !text.starts_with('-') {
            Some(arg.clone())
        } else {
            None
        };
        if let Some(script) = script {
            seen = true;
            // A value in the middle of a substitution may end it: `s/a/$x/`.
            if script.open_at.is_some() || sed_awk::sed(&script.text) != Sed::Looks {
                return false;
            }
        }
        at += 1;
    }
    seen
}
