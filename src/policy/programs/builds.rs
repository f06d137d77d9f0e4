//! Builders, test runners, linters and package managers: which of their sub-commands run only the project's own code, and
//! which need the network. Flat tables.

use super::assessment::{Assessment, Effect, Risk};
use super::build_tools::TOOLS;
use super::options;
use super::package_managers::{MANAGERS, PackageManager};
use crate::policy::path_scope::{PathScope, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};

const ALIKE: &[(&str, &str)] = &[
    ("pip3", "pip"),
    ("npx", "npx"),
    ("gradlew", "gradle"),
    ("mvnw", "mvn"),
    ("bunx", "npx"),
    ("pnpx", "npx"),
    ("mamba", "conda"),
    ("micromamba", "conda"),
    ("tofu", "terraform"),
];

/// Options that make builders run or read what is not the project's.
const STEERING: &[(&str, &[&str])] = &[
    ("cargo", &["--config", "-Z"]),
    ("go", &["-toolexec", "-exec", "-vettool", "-overlay", "--toolexec", "--exec", "--vettool"]),
    ("pip", &["--log", "--log-file", "--report", "--python"]),
    ("npm", &["--logs-dir", "--script-shell", "--userconfig", "--globalconfig", "-g", "--global"]),
    ("yarn", &["--use-yarnrc", "--script-shell"]),
    ("make", &["--eval"]),
    ("gmake", &["--eval"]),
    ("cmake", &["-P"]),
    ("rustc", &["-Clinker", "-Zcodegen"]),
    ("gcc", &["-fplugin", "-wrapper", "-specs", "-B"]),
    ("clang", &["-fplugin", "-load"]),
];

/// Options whose value is a place that is written, and variables of `make` that are one.
const PLACES: &[(&str, &str)] = &[
    ("-o", "--output"),
    ("", "--out-dir"),
    ("", "--outdir"),
    ("", "--outDir"),
    ("", "--output-dir"),
    ("", "--target-dir"),
    ("", "--prefix"),
    ("", "--install-dir"),
    ("", "--root"),
    ("", "--cov-report"),
    ("", "--junitxml"),
    ("", "--basetemp"),
    ("", "--cache-dir"),
];

/// Sub-commands that need the user's own accounts, or change what all of their projects share.
const NEEDS_ACCOUNT: &[&str] = &[
    "publish",
    "login",
    "logout",
    "adduser",
    "owner",
    "yank",
    "push",
    "deploy",
    "upload",
    "self",
    "toolchain",
    "component",
    "target",
    "tool",
    "global",
    "token",
    "whoami",
    "telemetry",
    "default",
    "override",
];

/// What the builder does; `None` when it is none.
pub fn judge(call: &Call, place: &PathScope) -> Option<Assessment> {
    let name = call.name();
    let name = ALIKE.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known);
    let args = call.args();
    let known = MANAGERS.iter().any(|manager| manager.name == name)
        || TOOLS.contains(&name)
        || TOOLS.contains(&unversioned(name));
    if (known || matches!(name, "make" | "gmake")) && super::readers::asks_version(args) {
        return Some(Assessment::looks());
    }
    let ours = || {
        Assessment::new(Risk::Works, "it builds, tests or checks the project")
            .with(Effect::Run(call.name().to_owned()))
    };
    let mut finding = if let Some(manager) = MANAGERS.iter().find(|manager| manager.name == name) {
        managed(manager, call)
    } else if matches!(name, "make" | "gmake") {
        make(call)
    } else if name == "npx" {
        npx(call, place)
    } else if TOOLS.contains(&unversioned(name)) || TOOLS.contains(&name) {
        ours()
    } else {
        return None;
    };
    let steering = STEERING.iter().filter(|(program, _)| *program == name).flat_map(|(_, options)| *options);
    for option in steering {
        let given = args.iter().any(|arg| {
            (option.starts_with("--") && name == "pip" && options::is(&arg.text, option))
                || arg.text == *option
                || (option.len() > 2 && arg.text.starts_with(&format!("{option}=")))
        });
        if given {
            finding.raise(Assessment::new(Risk::Unsure, format!("it is told by {option} to do more")));
        }
    }
    for (short, long) in PLACES {
        // An `-O2` and the like are no places.
        let value =
            options::value(args, if args.iter().any(|arg| arg.text == *short) { short } else { "" }, long);
        if let Some(value) = value {
            finding.raise(written(&value, call, place));
        }
    }
    for (variable, value) in args.iter().filter_map(|arg| arg.text.split_once('=')) {
        if matches!(variable, "DESTDIR" | "PREFIX" | "prefix") {
            finding.raise(written(&Arg::known(value), call, place));
        }
    }
    Some(finding)
}

fn written(value: &Arg, call: &Call, place: &PathScope) -> Assessment {
    match place.changing(value, &call.folders) {
        WriteRisk::Outside(what) | WriteRisk::Everything(what) => {
            Assessment::new(Risk::Guarded, format!("it writes to {what}, outside the workspace"))
                .with(Effect::Write(what))
        }
        _ => Assessment::looks(),
    }
}

/// `gcc-13` is `gcc`.
pub fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

fn managed(manager: &PackageManager, call: &Call) -> Assessment {
    let name = manager.name;
    let args = call.args();
    let run = Effect::Run(format!("{name} code of the project"));
    let net = |what: &str| {
        let beyond = beyond_project(name, what, call);
        if forgoes_network(name, args) && !NEEDS_ACCOUNT.contains(&what) {
            // An address may still be among its words, so nobody vouches for it without walls.
            return Assessment::new(Risk::Unsure, format!("{name} {what} works with what is already here"))
                .with(run.clone());
        }
        let grade = if beyond { Risk::Outside } else { Risk::Network };
        Assessment::new(grade, format!("{name} {what} needs the network"))
            .with(Effect::Net(format!("{name} {what}")))
    };
    let valued = [
        "-C",
        "--prefix",
        "--dir",
        "--cwd",
        "--manifest-path",
        "--color",
        "-p",
        "-f",
        "--filter",
        "-w",
        "--workspace",
        "--project",
        "-pl",
    ];
    let words = options::operands(args, &valued);
    let words: Vec<&Arg> = words.into_iter().filter(|word| !word.text.starts_with('+')).collect();
    let Some(sub) = words.first() else {
        if super::readers::asks_version(args) {
            return Assessment::looks();
        }
        if manager.bare_fetches {
            return net("install");
        }
        return Assessment::new(Risk::Unsure, format!("what {name} does is not known")).with(run);
    };
    let Some(sub) = sub.certain() else {
        return Assessment::new(Risk::Unsure, format!("what {name} does is not known")).with(run);
    };
    if name == "go" {
        if sub == "mod" {
            let second = words.get(1).map_or("", |word| word.text.as_str());
            return match second {
                "graph" | "why" | "verify" | "edit" | "init" | "vendor" => {
                    Assessment::new(Risk::Works, "it works on the module file").with(run)
                }
                _ => net("mod"),
            };
        }
        if words.iter().any(|word| word.text.contains('@')) {
            return net(sub);
        }
        if sub == "env" && options::has(args, &["-w", "-u"]) {
            return Assessment::new(Risk::Guarded, "it changes go's settings for every project");
        }
        if sub == "clean" && args.iter().any(|arg| arg.text.ends_with("cache")) {
            return Assessment::new(Risk::Unsure, "it empties go's cache");
        }
    }
    if matches!(name, "mvn" | "gradle")
        && words.iter().any(|word| manager.net.contains(&word.text.trim_start_matches(':')))
    {
        return net("publish");
    }
    if name == "cargo" && sub == "test" && args.iter().any(|arg| arg.text.starts_with("--config")) {
        return Assessment::new(Risk::Unsure, "it is told by --config to do more").with(run);
    }
    if manager.net.contains(&sub) {
        return net(sub);
    }
    if manager.looks.contains(&sub) {
        return Assessment::looks();
    }
    if manager.works.contains(&sub) || manager.scripts || (name == "mvn" && !sub.contains(':')) {
        return Assessment::new(Risk::Works, "it builds, tests or checks the project").with(run);
    }
    Assessment::new(Risk::Unsure, format!("what {name} {sub} does is not known")).with(run)
}

/// Whether the manager is told to take only what this machine already has.
fn forgoes_network(manager: &str, args: &[Arg]) -> bool {
    let options: &[&str] = match manager {
        "pip" => &["--no-index"],
        "cargo" => &["--offline", "--frozen"],
        "npm" | "pnpm" | "yarn" | "uv" | "mvn" | "gradle" | "conda" | "composer" | "flutter" | "dart" => {
            &["--offline"]
        }
        "bundle" => &["--local"],
        _ => return false,
    };
    args.iter().any(|arg| options.contains(&arg.text.as_str()))
}

/// Whether it needs the user's own accounts, or installs for all of their projects.
fn beyond_project(manager: &str, sub: &str, call: &Call) -> bool {
    let whole_machine = match manager {
        // Which environment a bare `pip` means is not seen here.
        "pip" => !call.argv[0].text.contains('/'),
        "cargo" | "go" | "gem" => sub == "install",
        "conda" | "helm" | "rustup" | "terraform" => true,
        _ => options::has(call.args(), &["-g", "--global", "--user"]),
    };
    whole_machine || NEEDS_ACCOUNT.contains(&sub)
}

fn make(call: &Call) -> Assessment {
    let args = call.args();
    let run = Effect::Run("make targets of the project".to_owned());
    let beyond = args.iter().find(|arg| {
        let target = arg.text.as_str();
        ["install", "uninstall", "deploy", "publish", "release", "push", "upload"].contains(&target)
            || target.starts_with("install-")
    });
    let moved = args
        .iter()
        .any(|arg| ["DESTDIR=", "PREFIX=", "prefix="].iter().any(|front| arg.text.starts_with(front)));
    if let Some(target) = beyond.filter(|_| !moved) {
        return Assessment::new(
            Risk::Outside,
            format!("`make {}` reaches beyond the workspace", target.text),
        )
        .with(run);
    }
    let other = options::value(args, "-f", "--file").or_else(|| options::value(args, "-f", "--makefile"));
    let elsewhere = |arg: &Arg| {
        arg.certain().is_none() || arg.text.starts_with('/') || arg.text.contains("..") || arg.text == "-"
    };
    if other.as_ref().is_some_and(elsewhere) {
        return Assessment::new(Risk::Unsure, "it runs a makefile from elsewhere").with(run);
    }
    // SHELL=, and what make expands itself.
    if args.iter().any(|arg| arg.text.starts_with("SHELL=") || arg.text.contains("$(shell")) {
        return Assessment::new(Risk::Unsure, "it is told to run something else").with(run);
    }
    Assessment::new(Risk::Works, "it runs a target of the project's makefile").with(run)
}

/// `npx` runs what the project has installed, and fetches what it has not.
fn npx(call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let words = options::operands(args, &["-p", "--package", "-c", "--call"]);
    let told = options::has(args, &["--call", "--package"])
        || args.iter().any(|arg| matches!(arg.text.as_str(), "-c" | "-p"));
    let tool = words.first().and_then(|word| word.certain()).filter(|_| !told);
    match tool {
        Some(tool) if !tool.contains(['/', '@']) => {
            let installed = call
                .folders
                .iter()
                .flat_map(|folder| folder.ancestors().take_while(|up| up.starts_with(&place.workspace)))
                .any(|folder| folder.join("node_modules/.bin").join(tool).exists());
            let offline = options::has(args, &["--no-install", "--no", "--offline"]);
            if installed || offline || TOOLS.contains(&tool) {
                return Assessment::new(Risk::Works, "it runs a tool of the project")
                    .with(Effect::Run(tool.to_owned()));
            }
            Assessment::new(Risk::Network, format!("npx may fetch {tool}"))
                .with(Effect::Net("npx".to_owned()))
        }
        _ => Assessment::new(Risk::Network, "npx may fetch what it runs").with(Effect::Net("npx".to_owned())),
    }
}
