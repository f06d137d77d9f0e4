//! Assesses single actions of a call: reading or changing a file, connecting to an address, ending a process,
//! running code (a file, a module, its input), and what such code must not mention.

use super::assessment::{Assessment, Effect, Risk};
use super::table::{self, Class};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::{Arg, Call, CallInput, PIPED_SCRIPT};
use crate::shell::interpret::wrappers::is_shell;

pub fn secret(what: &str) -> Assessment {
    Assessment::new(Risk::Guarded, format!("reads {what}, which is secret"))
        .with(Effect::Read(what.to_owned()))
}

/// A redirection's target may be a network connection or a disk.
pub fn device(target: &Arg) -> Option<Assessment> {
    let text = target.text.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Some(Assessment::new(Risk::Network, "opens a connection").with(Effect::Net(text.to_owned())));
    }
    const DISKS: &str = "sd hd vd xvd nvme mmcblk disk mapper dm- md";
    let disk = |text: &str| DISKS.split(' ').any(|name| text.starts_with(name));
    let is_disk = text.strip_prefix("/dev/").is_some_and(disk);
    is_disk.then(|| Assessment::new(Risk::Destroys, format!("overwrites the disk {text}")))
}

/// `moved`: it is in the workspace if each `cd` before it works.
fn of_change(changing: WriteRisk, what: &str, moved: bool) -> Assessment {
    let write = Effect::Write(what.to_owned());
    match changing {
        WriteRisk::Nothing => Assessment::reads(),
        WriteRisk::Inside => {
            Assessment::new(Risk::Workspace, "changes files in the workspace or temporary files").with(write)
        }
        WriteRisk::Unknown => {
            Assessment::new(Risk::Unknown, format!("changes {what}, whose value is unknown")).with(write)
        }
        WriteRisk::Guarded(what) => Assessment::new(
            Risk::Guarded,
            format!("changes {what}, which controls other programs or is the whole workspace"),
        )
        .with(write),
        WriteRisk::Outside(what) | WriteRisk::Everything(what) => {
            let unless = if moved { " if a `cd` before it fails: join them with `&&`" } else { "" };
            Assessment::new(Risk::Guarded, format!("changes {what}, outside the workspace{unless}"))
                .with(write)
        }
    }
}

pub fn changing(target: &Arg, call: &Call, scope: &PathScope) -> Assessment {
    if let Some(device) = device(target) {
        return device;
    }
    let is_inside = |at| matches!(scope.changing(target, std::slice::from_ref(at)), WriteRisk::Inside);
    let moved = call.folders.len() > 1 && call.folders.iter().any(is_inside);
    of_change(scope.changing(target, &call.folders), &target.text, moved)
}

pub fn through_links(arg: &Arg, call: &Call, scope: &PathScope) -> Assessment {
    of_reading(scope.reading_through_links(arg, &call.folders), arg)
}

pub fn reading(arg: &Arg, call: &Call, scope: &PathScope, deep: bool) -> Assessment {
    of_reading(scope.reading(arg, &call.folders, deep), arg)
}

fn of_reading(reading: ReadRisk, arg: &Arg) -> Assessment {
    match reading {
        ReadRisk::Free => Assessment::reads(),
        ReadRisk::Elsewhere(path) => Assessment { elsewhere: vec![path], ..Assessment::reads() },
        ReadRisk::Secret(what) => secret(&what),
        ReadRisk::Unknown => {
            Assessment::new(Risk::Unknown, format!("reads {}, whose value is unknown", arg.text))
        }
    }
}

const LOCAL: &[&str] = &["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "::1"];

pub fn target(arg: &Arg) -> Assessment {
    match host_of(arg) {
        Some(host) if LOCAL.contains(&host.as_str()) => {
            Assessment::new(Risk::Workspace, "talks to this machine").with(Effect::Net(host))
        }
        host => {
            let host = host.unwrap_or_else(|| arg.text.clone());
            Assessment::new(Risk::Network, format!("needs network access ({host})")).with(Effect::Net(host))
        }
    }
}

fn host_of(target: &Arg) -> Option<String> {
    let text = target.text.split_once("://").map_or(target.text.as_str(), |(_, rest)| rest);
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let start = target.text.len() - text.len();
    if target.open_at.is_some_and(|at| at < start + end) {
        // The port may be unknown, but not the host.
        let colon = text.find(':')?;
        if target.open_at? <= start + colon {
            return None;
        }
    }
    let front = &text[..end];
    if front.contains(['@', '\\']) {
        return None;
    }
    let host = if front.starts_with('[') {
        front.split_inclusive(']').next().unwrap_or(front)
    } else {
        front.split(':').next().unwrap_or(front)
    };
    Some(host.to_owned())
}

pub fn signal(args: &[Arg]) -> Assessment {
    let Some(first) = args.first() else { return Assessment::reads() };
    if matches!(first.text.as_str(), "-l" | "-L" | "-0") {
        return Assessment::reads();
    }
    let mut targets = args.iter().map(|arg| arg.text.as_str()).filter(|text| *text != "--").peekable();
    if targets.peek().is_some_and(|text| matches!(*text, "-s" | "-n")) {
        targets.nth(1);
    } else if args.len() > 1 {
        targets.next_if(|text| text.starts_with('-'));
    }
    let targets: Vec<&str> = targets.collect();
    if targets.iter().any(|target| matches!(*target, "-1" | "1" | "0")) {
        return Assessment::new(Risk::Destroys, "kills all of your processes");
    }
    // Jobs, and processes that the script just started.
    if targets.iter().all(|target| target.starts_with('%') || target.starts_with("$!")) {
        return Assessment::new(Risk::Workspace, "stops processes it started");
    }
    Assessment::new(Risk::Unknown, "kills another program")
}

pub fn is_interpreter(name: &str) -> bool {
    is_shell(name)
        || matches!(name, "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
        || table::program_row(name).is_some_and(|row| row.class == Class::Interpret)
}

/// Running a file: only the project's own code is known.
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
