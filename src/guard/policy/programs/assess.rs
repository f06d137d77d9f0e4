//! Assesses one call: its program, redirections and variables. Anything unknown counts as unsure.

use super::assessment::{Assessment, Effect, Risk};
use super::effects::{self, reading};
use super::git;
use super::interpret;
use super::table::{self, Class};
use crate::policy::path_scope::PathScope;
use crate::sandbox::places;
use crate::shell::interpret::call::{BOMB, Call, PIPED_SCRIPT};
use crate::shell::interpret::wrappers::assigned;

const VERSION: &[&str] = &["--version", "-version", "version", "-V", "-v", "--help", "help"];

/// `written` are the files that the script writes; running one of them runs unreviewed code.
pub fn assess(call: &Call, scope: &PathScope, written: &[String]) -> Assessment {
    let mut result = match &call.hidden {
        Some(why) if why == BOMB => Assessment::new(Risk::Destroys, why.clone()),
        Some(why) if why == PIPED_SCRIPT => Assessment::new(Risk::Outside, why.clone()),
        Some(why) => Assessment::new(Risk::Unknown, why.clone()),
        None if call.argv.is_empty() || call.is_function => Assessment::reads(),
        None => program(call, scope),
    };
    if let Some(name) = call.argv.first().filter(|_| !call.is_function)
        && result.risk > Risk::Reads
        && !result.effects.iter().any(|effect| matches!(effect, Effect::Run(_)))
    {
        result.add(Effect::Run(name.text.clone()));
    }
    for file in &call.files {
        result.raise(if file.writes {
            effects::changing(&file.target, call, scope)
        } else if let Some(device) = effects::device(&file.target) {
            device
        } else {
            reading(&file.target, call, scope, false).with(Effect::Read(file.target.text.clone()))
        });
    }
    let exports = matches!(call.name(), "export" | "declare" | "typeset" | "local" | "readonly" | "env");
    let exported = call.args().iter().filter(|_| exports).filter_map(assigned);
    for (name, value) in call.assignments.iter().cloned().chain(exported) {
        if steers(&name, value.certain()) {
            let why = format!("sets {name}, which changes what programs run");
            result.raise(Assessment::new(Risk::Unknown, why));
        }
    }
    if result.risk > Risk::Reads && result.risk < Risk::Unknown && runs_written(call, written) {
        result.raise(Assessment::new(Risk::Unknown, "runs what the same script writes"));
    }
    result
}

fn runs_written(call: &Call, written: &[String]) -> bool {
    let runs = effects::is_interpreter(call.name())
        || matches!(call.name(), "make" | "source" | ".")
        || call.argv.first().is_some_and(|program| program.text.contains('/'));
    let plain = |text: &str| text.trim_start_matches("./").to_owned();
    runs && call.argv.iter().any(|arg| written.iter().any(|file| plain(file) == plain(&arg.text)))
}

fn program(call: &Call, scope: &PathScope) -> Assessment {
    let name = call.name();
    let Some(path) = call.argv[0].certain() else {
        return Assessment::new(Risk::Unknown, "can't tell which program it runs");
    };
    let folder = &path[..path.len() - name.len()];
    let is_standard = ["", "/bin/", "/usr/bin/", "/usr/local/bin/"].contains(&folder);
    // A program in another folder may only share the name of a harmless one.
    let is_named_alike =
        || !is_standard && table::program_row(name).is_some_and(|row| row.class == Class::Look);
    if is_standard && name == "git" {
        return git::assess(call, scope);
    }
    if !is_named_alike()
        && let Some(result) = interpret::assess(call, scope)
    {
        return result;
    }
    let mut result = if !is_standard {
        effects::script(&call.argv[0], call, scope)
    } else if matches!(call.args(), [one] if one.certain().is_some_and(|text| VERSION.contains(&text))) {
        Assessment::new(Risk::Workspace, format!("asks {name} for its version"))
    } else {
        Assessment::new(Risk::Unknown, format!("can't tell what {name} does"))
    };
    effects::secrets(&mut result, call, scope, false);
    result
}

const TAME: &[&str] = &["", "cat", "true", ":", "0", "1", "no", "never", "less", "echo", "."];

/// Whether setting the variable may change what programs do. `value` is `None` if unknown.
pub fn steers(name: &str, value: Option<&str>) -> bool {
    // Options such as memory limits are common; only those that load code matter.
    if name == "NODE_OPTIONS" {
        return value
            .is_none_or(|value| ["require", "-r", "import", "loader"].iter().any(|bad| value.contains(bad)));
    }
    let proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let place = name != "GIT_CONFIG_NOSYSTEM"
        && any_of("parts of variables that name places", |part| name.contains(part));
    let tame = match value {
        _ if matches!(name, "PATH" | "IFS" | "HOME") => false,
        Some(value) if place => value.is_empty(),
        Some(value) => TAME.contains(&value),
        None => false,
    };
    !tame
        && (proxy
            || any_of("steering variables", |known| name == known)
            || any_of("beginnings of steering variables", |front| name.starts_with(front)))
}

fn any_of(list: &str, fits: impl Fn(&str) -> bool) -> bool {
    places::list(list).flat_map(str::split_whitespace).any(fits)
}
