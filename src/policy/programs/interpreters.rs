//! Programs that run code: files of the project, code on the command line, and modules. Flat tables.

use super::assessment::{Assessment, Effect, Risk};
use super::builds::unversioned;
use crate::policy::path_scope::PathScope;
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::{Arg, Call, Input};
use crate::shell::interpret::wrappers::is_shell;

const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "ipython",
    "node",
    "nodejs",
    "ts-node",
    "tsx",
    "perl",
    "ruby",
    "irb",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "pwsh",
    "java",
    "kotlin",
    "scala",
    "jshell",
    "Rscript",
    "R",
    "julia",
    "guile",
    "racket",
    "sbcl",
    "ghci",
    "runghc",
    "erl",
    "elixir",
    "iex",
    "escript",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "osascript",
    "deno",
    "groovy",
    "clojure",
    "bb",
];

/// Options behind which code stands.
const CODE: &[&str] = &["-c", "-e", "-E", "-p", "-pe", "-ne", "-r", "--eval", "--print", "-i", "-exec"];

/// Modules of Python that build, test or check.
const MODULES: &[&str] = &[
    "pytest",
    "unittest",
    "mypy",
    "black",
    "ruff",
    "flake8",
    "isort",
    "pylint",
    "build",
    "compileall",
    "py_compile",
    "venv",
    "doctest",
    "json.tool",
    "tokenize",
    "ast",
    "dis",
    "timeit",
    "cProfile",
    "coverage",
    "tox",
    "nox",
    "sphinx",
    "mkdocs",
    "bandit",
    "pyflakes",
    "pycodestyle",
    "pydoc",
    "tabnanny",
    "zipfile",
    "tarfile",
    "calendar",
    "platform",
    "site",
    "sysconfig",
    "trace",
    "pip_audit",
    "pyright",
    "hypothesis",
    "maturin",
    "setuptools",
    "django",
    "flask",
    "uvicorn",
    "jupyter",
    "nbconvert",
];

pub fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&unversioned(name)) || INTERPRETERS.contains(&name) || is_shell(name)
}

/// What an interpreter runs; `None` when the program is none.
pub fn judge(call: &Call, place: &PathScope) -> Option<Assessment> {
    let name = call.name();
    if !is_interpreter(name) {
        return None;
    }
    let base = unversioned(name);
    let args = call.args();
    let run = |what: &str| Effect::Run(what.to_owned());
    if let Some(mark) = code_of(call).iter().find_map(|code| secret_paths::named_in(code)) {
        return Some(
            Assessment::new(Risk::Guarded, format!("its code names a secret place ({mark})"))
                .with(Effect::Read(mark.to_owned())),
        );
    }
    if super::readers::asks_version(args) {
        return Some(Assessment::looks());
    }
    if matches!(base, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed") {
        return Some(
            Assessment::new(Risk::Unsure, format!("its {name} script may run commands or write files"))
                .with(run("code")),
        );
    }
    if base == "java"
        && let Some(at) = args.iter().position(|arg| arg.text == "-jar")
        && let Some(jar) = args.get(at + 1)
    {
        return Some(script(jar, call, place));
    }
    if is_shell(name) {
        return Some(shell(call, place));
    }
    if matches!(base, "python" | "pypy")
        && let Some(at) = args.iter().position(|arg| arg.text == "-m")
        && args[..at].iter().all(|arg| arg.text.starts_with('-') && !CODE.contains(&arg.text.as_str()))
    {
        let module = args.get(at + 1).and_then(Arg::certain).unwrap_or_default();
        let first = module.split('.').next().unwrap_or_default();
        return Some(match module {
            "pip" | "ensurepip" => {
                let looks = args.get(at + 2).is_some_and(|arg| {
                    matches!(arg.text.as_str(), "list" | "show" | "freeze" | "check" | "--version" | "-V")
                });
                if looks {
                    Assessment::looks()
                } else {
                    let grade = if call.argv[0].text.contains('/') { Risk::Network } else { Risk::Outside };
                    Assessment::new(grade, "pip needs the network").with(Effect::Net("pip".to_owned()))
                }
            }
            "http.server" => Assessment::new(Risk::Unsure, "it serves files").with(run("http.server")),
            _ if MODULES.contains(&module)
                || MODULES.contains(&first)
                || in_workspace(first, call, place) =>
            {
                Assessment::new(Risk::Works, "it runs a known module").with(run(module))
            }
            _ => Assessment::new(Risk::Unsure, "it runs a module that is not known").with(run(module)),
        });
    }
    if name == "node" && args.iter().any(|arg| matches!(arg.text.as_str(), "--test" | "--check" | "-c")) {
        return Some(Assessment::new(Risk::Works, "it tests or checks the project").with(run("node --test")));
    }
    let coded = args.iter().take_while(|arg| arg.text.starts_with('-')).any(|arg| {
        CODE.iter().any(|option| {
            arg.text == *option
                || (arg.text.starts_with(option) && (option.starts_with("--") || !arg.text.starts_with("--")))
        })
    });
    // Letters go in bundles: `perl -lane`, `python -Bc`.
    let letter = match base {
        "perl" | "ruby" => ['e', 'E'],
        "python" | "pypy" => ['c', 'c'],
        _ => ['\0', '\0'],
    };
    let bundled = args
        .iter()
        .take_while(|arg| arg.text.starts_with('-'))
        .any(|arg| !arg.text.starts_with("--") && arg.text.contains(letter));
    if coded || bundled {
        return Some(
            Assessment::new(Risk::Unsure, format!("{name} runs code from the command line"))
                .with(run("code")),
        );
    }
    let valued = ["-W", "-X", "-I", "-r", "-cp", "-classpath", "--require", "--import", "--loader"];
    let file = super::options::operands(args, &valued).first().copied();
    Some(match file {
        Some(file)
            if base == "java"
                && !args.iter().any(|arg| arg.text.ends_with(".jar") || arg.text.ends_with(".java")) =>
        {
            Assessment::new(Risk::Works, "it runs a class of the project").with(run(&file.text))
        }
        Some(file) if file.text != "-" => script(file, call, place),
        _ if matches!(call.input, Input::Text(_)) => {
            Assessment::new(Risk::Unsure, format!("{name} runs code from a here-document")).with(run("code"))
        }
        _ => Assessment::new(Risk::Unsure, format!("{name} runs what it is fed")).with(run("code")),
    })
}

fn in_workspace(module: &str, call: &Call, place: &PathScope) -> bool {
    !module.is_empty()
        && call.folders.iter().any(|folder| {
            folder.starts_with(&place.workspace)
                && ["", "src"].iter().any(|below| {
                    let base = folder.join(below);
                    base.join(module).is_dir() || base.join(format!("{module}.py")).is_file()
                })
        })
}

fn shell(call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    if options_check_only(args) {
        return Assessment::looks();
    }
    let file = args.iter().find(|arg| !arg.text.starts_with(['-', '+']));
    match file {
        Some(file) => script(file, call, place),
        None => match call.files.iter().find(|file| !file.writes) {
            Some(file) => script(&file.target, call, place),
            None if call.input == Input::Inherited => {
                Assessment::new(Risk::Unsure, "it starts a shell").with(Effect::Run("a shell".to_owned()))
            }
            None => Assessment::new(Risk::Outside, "the shell runs what it is fed")
                .with(Effect::Run("a shell".to_owned())),
        },
    }
}

/// `bash -n FILE` reads without running.
fn options_check_only(args: &[Arg]) -> bool {
    matches!(args, [flag, file] if flag.text == "-n" && file.certain().is_some())
}

/// A file that is run: the project's own is known, any other is not.
pub fn script(file: &Arg, call: &Call, place: &PathScope) -> Assessment {
    let run = Effect::Run(file.text.clone());
    if let crate::policy::path_scope::ReadRisk::Secret(what) = place.reading(file, &call.folders, false) {
        return Assessment::new(Risk::Guarded, format!("it reads {what}, which is secret"))
            .with(Effect::Read(what));
    }
    match file.certain() {
        Some(_) if place.is_inside(file, &call.folders) => {
            Assessment::new(Risk::Works, "it runs a file of the project").with(run)
        }
        Some(text) => {
            Assessment::new(Risk::Unsure, format!("it runs {text}, which is not the project's")).with(run)
        }
        None => Assessment::new(Risk::Unsure, "what it runs is not known").with(run),
    }
}

/// The code that stands in the call itself.
fn code_of(call: &Call) -> Vec<&str> {
    let mut all: Vec<&str> = call.args().iter().map(|arg| arg.text.as_str()).collect();
    if let Input::Text(text) = &call.input {
        all.push(&text.text);
    }
    all
}
