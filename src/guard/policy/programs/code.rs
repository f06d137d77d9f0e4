//! Code that a call runs (a file, a module, its input), and what such code must not name.

use super::assessment::{Assessment, Effect, Risk};
use super::path_effects::secret;
use super::table::{self, Class};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::{Arg, Call, CallInput, PIPED_SCRIPT};
use crate::shell::interpret::wrappers::is_shell;

pub fn is_interpreter(name: &str) -> bool {
    is_shell(name)
        || matches!(name, "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
        || table::program_row(name).is_some_and(|row| row.class == Class::Interpret)
}

/// Running a file: the project's own code is known, any other isn't.
pub fn script(file: &Arg, call: &Call, scope: &PathScope) -> Assessment {
    if let ReadRisk::Secret(what) = scope.reading(file, &call.folders, false) {
        return secret(&what);
    }
    let (risk, why) = match file.certain() {
        Some("-") => (Risk::Unknown, "runs code from its input".to_owned()),
        Some(_) if scope.is_inside(file, &call.folders) => {
            (Risk::Workspace, "runs a file of the project".to_owned())
        }
        Some(text) => (Risk::Unknown, format!("runs {text}, which is outside the workspace")),
        None => (Risk::Unknown, "can't tell what it runs".to_owned()),
    };
    Assessment::new(risk, why).with(Effect::Run(file.text.clone()))
}

/// An interpreter without a file or code runs its input.
pub fn from_input(call: &Call, scope: &PathScope) -> Assessment {
    let name = call.name();
    let fed = call.files.iter().find(|file| !file.writes);
    let (risk, why) = match (fed, &call.input) {
        (Some(file), _) if is_shell(name) => return script(&file.target, call, scope),
        (_, CallInput::Inherited) if is_shell(name) => (Risk::Unknown, "starts a shell".to_owned()),
        _ if is_shell(name) => (Risk::Outside, PIPED_SCRIPT.to_owned()),
        (_, CallInput::Text(_)) => (Risk::Unknown, format!("{name} runs code from a here-document")),
        _ => (Risk::Unknown, format!("{name} runs code from its input")),
    };
    Assessment::new(risk, why).with(Effect::Run("code".to_owned()))
}

pub fn is_own_module(module: Option<&&Arg>, call: &Call, scope: &PathScope) -> bool {
    let first = module.and_then(|module| module.certain()?.split('.').next()).unwrap_or_default();
    !first.is_empty()
        && call.folders.iter().filter(|folder| folder.starts_with(&scope.workspace)).any(|folder| {
            ["", "src"]
                .iter()
                .map(|below| folder.join(below))
                .any(|base| base.join(first).is_dir() || base.join(format!("{first}.py")).is_file())
        })
}

pub fn secrets(result: &mut Assessment, call: &Call, scope: &PathScope, is_code: bool) {
    for arg in call.args() {
        if let ReadRisk::Secret(what) = scope.reading(arg, &call.folders, false) {
            result.raise(secret(&what));
        }
        let outside = matches!(scope.changing(arg, &call.folders), WriteRisk::Everything(_));
        if outside
            && matches!(result.risk, Risk::Inspects | Risk::Workspace)
            && !arg.text.starts_with('-')
            && arg.text != "/"
        {
            result.raise(Assessment::new(
                Risk::Unknown,
                format!("works on {}, outside the workspace", arg.text),
            ));
        }
    }
    let input = match &call.input {
        CallInput::Text(text) => Some(text.text.as_str()),
        _ => None,
    };
    let mut texts = call.args().iter().map(|arg| arg.text.as_str()).chain(input);
    let is_path = |text: &&str| text.contains(char::is_whitespace) || text.contains('/');
    let named = match is_code {
        true => texts.find_map(secret_paths::named_in),
        false if result.risk >= Risk::Unknown => texts.filter(is_path).find_map(secret_paths::named_in),
        false => None,
    };
    if let Some(mark) = named {
        let why = format!("its code names a secret place ({mark})");
        result.raise(Assessment::new(Risk::Guarded, why).with(Effect::Read(mark.to_owned())));
    }
}
