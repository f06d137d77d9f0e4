//! Builders, test runners, linters and package managers: which of their sub-commands run only the project's own code, and
//! which need the network. Flat tables.

use super::finding::{Effect, Finding, Grade};
use super::options;
use crate::policy::flow::call::{Arg, Call};
use crate::policy::place::{Changing, Place};

/// Programs that build, test, check or format the project, whatever their words.
const TOOLS: &[&str] = &[
    "pytest",
    "py.test",
    "tox",
    "nox",
    "unittest",
    "coverage",
    "mypy",
    "pyright",
    "basedpyright",
    "pylint",
    "flake8",
    "ruff",
    "black",
    "isort",
    "autopep8",
    "yapf",
    "bandit",
    "pydocstyle",
    "sphinx-build",
    "mkdocs",
    "cython",
    "maturin",
    "rustc",
    "rustfmt",
    "rustdoc",
    "clippy-driver",
    "cargo-fmt",
    "cargo-clippy",
    "wasm-pack",
    "trunk",
    "cbindgen",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "cpp",
    "ld",
    "ld.lld",
    "lld",
    "ar",
    "ranlib",
    "as",
    "nasm",
    "strip",
    "objcopy",
    "cmake",
    "ctest",
    "cpack",
    "ninja",
    "meson",
    "autoconf",
    "automake",
    "autoreconf",
    "libtool",
    "pkg-config",
    "bear",
    "clang-format",
    "clang-tidy",
    "cppcheck",
    "gcov",
    "lcov",
    "genhtml",
    "doxygen",
    "protoc",
    "flatc",
    "bison",
    "flex",
    "javac",
    "javadoc",
    "jar",
    "kotlinc",
    "scalac",
    "ktlint",
    "checkstyle",
    "google-java-format",
    "sbt",
    "lein",
    "ant",
    "tsc",
    "eslint",
    "prettier",
    "biome",
    "oxlint",
    "standard",
    "stylelint",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "nyc",
    "c8",
    "karma",
    "cypress",
    "playwright",
    "webpack",
    "vite",
    "rollup",
    "esbuild",
    "parcel",
    "swc",
    "babel",
    "next",
    "nuxt",
    "astro",
    "turbo",
    "nx",
    "lerna",
    "tsup",
    "tsd",
    "knip",
    "svelte-check",
    "vue-tsc",
    "ng",
    "gulp",
    "grunt",
    "gofmt",
    "goimports",
    "golangci-lint",
    "staticcheck",
    "gotestsum",
    "ginkgo",
    "rspec",
    "rubocop",
    "rake",
    "minitest",
    "phpunit",
    "phpstan",
    "psalm",
    "pest",
    "php-cs-fixer",
    "ghc",
    "hlint",
    "ormolu",
    "stack",
    "cabal",
    "runghc",
    "dune",
    "ocamlc",
    "ocamlfind",
    "ocamlformat",
    "elm",
    "elm-test",
    "mix",
    "rebar3",
    "zig",
    "swiftc",
    "swiftlint",
    "swiftformat",
    "xcodebuild",
    "dotnet",
    "nim",
    "crystal",
    "shards",
    "gleam",
    "bazel",
    "bazelisk",
    "buck2",
    "pants",
    "just",
    "task",
    "shellcheck",
    "shfmt",
    "hadolint",
    "yamllint",
    "actionlint",
    "markdownlint",
    "markdownlint-cli2",
    "vale",
    "codespell",
    "typos",
    "taplo",
    "buf",
    "sqlfluff",
    "terraform-docs",
    "tflint",
    "pdflatex",
    "xelatex",
    "lualatex",
    "latexmk",
    "pandoc",
    "dot",
    "asciidoctor",
    "hyperfine",
    "wasm-opt",
    "diff-so-fancy",
    "pre-commit",
    "bats",
    "shunit2",
    "jsonlint",
    "ajv",
    "xmllint",
    "tidy",
    "tree-sitter",
    "wc",
    "ctags",
    "etags",
    "cscope",
];

/// Sub-commands of package managers. `works` run the project's own code; `net` fetch or publish.
struct Manager {
    name: &'static str,
    works: &'static [&'static str],
    looks: &'static [&'static str],
    net: &'static [&'static str],
    /// Unknown words are scripts that the project itself names.
    scripts: bool,
    /// Without a word it fetches.
    bare_fetches: bool,
}

const MANAGERS: &[Manager] = &[
    Manager {
        name: "cargo",
        works: &[
            "build",
            "b",
            "check",
            "c",
            "test",
            "t",
            "run",
            "r",
            "bench",
            "doc",
            "d",
            "clippy",
            "fmt",
            "fix",
            "clean",
            "tree",
            "metadata",
            "nextest",
            "expand",
            "miri",
            "llvm-cov",
            "package",
            "vendor",
            "rustc",
            "rustdoc",
            "init",
            "new",
            "remove",
            "rm",
            "deny",
            "machete",
            "udeps",
            "locate-project",
            "pkgid",
            "verify-project",
            "insta",
            "hack",
            "doctor",
        ],
        looks: &["version", "help", "locate-project", "read-manifest"],
        net: &[
            "add",
            "install",
            "publish",
            "update",
            "search",
            "fetch",
            "login",
            "logout",
            "yank",
            "owner",
            "info",
            "audit",
            "outdated",
            "binstall",
            "generate-lockfile",
        ],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "npm",
        works: &[
            "run",
            "run-script",
            "test",
            "t",
            "tst",
            "start",
            "stop",
            "restart",
            "rebuild",
            "pack",
            "prune",
            "dedupe",
            "shrinkwrap",
            "uninstall",
            "rm",
            "remove",
            "version",
            "explain",
            "query",
            "pkg",
        ],
        looks: &["ls", "list", "ll", "root", "prefix", "bin", "help", "why"],
        net: &[
            "install",
            "i",
            "ci",
            "add",
            "update",
            "up",
            "upgrade",
            "outdated",
            "audit",
            "view",
            "info",
            "show",
            "publish",
            "unpublish",
            "login",
            "logout",
            "adduser",
            "whoami",
            "search",
            "init",
            "create",
            "exec",
            "x",
            "install-test",
            "it",
            "clean-install",
            "ping",
            "dist-tag",
            "deprecate",
            "owner",
            "token",
            "team",
            "org",
            "access",
            "fund",
            "doctor",
        ],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "pnpm",
        works: &[
            "run",
            "test",
            "t",
            "start",
            "rebuild",
            "exec",
            "pack",
            "prune",
            "remove",
            "rm",
            "uninstall",
        ],
        looks: &["ls", "list", "root", "bin", "why", "licenses"],
        net: &[
            "install", "i", "add", "update", "up", "outdated", "audit", "publish", "dlx", "create", "init",
            "fetch", "import", "deploy", "store", "env", "login",
        ],
        scripts: true,
        bare_fetches: false,
    },
    Manager {
        name: "yarn",
        works: &[
            "run",
            "test",
            "start",
            "build",
            "remove",
            "pack",
            "workspaces",
            "workspace",
            "exec",
            "node",
        ],
        looks: &["list", "why", "bin", "versions"],
        net: &[
            "install", "add", "up", "upgrade", "outdated", "audit", "publish", "dlx", "create", "init",
            "npm", "info", "global", "login", "set", "plugin", "import",
        ],
        scripts: true,
        bare_fetches: true,
    },
    Manager {
        name: "bun",
        works: &["run", "test", "build", "remove", "rm"],
        looks: &["pm"],
        net: &[
            "install", "i", "add", "update", "outdated", "publish", "x", "create", "init", "upgrade", "link",
        ],
        scripts: true,
        bare_fetches: false,
    },
    Manager {
        name: "go",
        works: &["build", "test", "vet", "fmt", "run", "generate", "fix", "work", "tool", "clean", "bug"],
        looks: &["list", "env", "version", "doc", "help"],
        net: &["get", "install", "telemetry"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "pip",
        works: &["uninstall", "check", "wheel", "cache"],
        looks: &["list", "show", "freeze", "check", "inspect", "help", "debug"],
        net: &["install", "download", "search", "index", "wheel"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "uv",
        works: &["run", "build", "venv", "tree", "export", "format", "version"],
        looks: &["help"],
        net: &["sync", "add", "lock", "pip", "remove", "tool", "python", "publish", "init", "self", "cache"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "poetry",
        works: &["run", "check", "build", "show", "version", "env", "export"],
        looks: &["about", "help"],
        net: &[
            "install", "add", "update", "lock", "remove", "publish", "self", "source", "init", "new",
            "search", "sync",
        ],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "mvn",
        works: &[
            "compile",
            "test",
            "verify",
            "package",
            "clean",
            "validate",
            "test-compile",
            "integration-test",
            "checkstyle:check",
            "spotless:apply",
            "spotless:check",
            "dependency:tree",
            "install",
            "site",
        ],
        looks: &["help"],
        net: &["deploy", "release:perform", "release:prepare", "dependency:get", "archetype:generate"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "gradle",
        works: &[],
        looks: &["tasks", "projects", "help"],
        net: &["publish", "wrapper", "publishToMavenLocal", "uploadArchives"],
        scripts: true,
        bare_fetches: false,
    },
    Manager {
        name: "bundle",
        works: &["exec", "check", "list", "show", "clean"],
        looks: &["help", "info", "outdated"],
        net: &["install", "update", "add", "lock", "package", "cache", "init", "gem"],
        scripts: false,
        bare_fetches: true,
    },
    Manager {
        name: "composer",
        works: &["run", "run-script", "test", "dump-autoload", "dumpautoload", "validate", "exec"],
        looks: &["show", "licenses", "help"],
        net: &[
            "install",
            "update",
            "require",
            "remove",
            "create-project",
            "global",
            "self-update",
            "outdated",
            "audit",
            "search",
        ],
        scripts: true,
        bare_fetches: false,
    },
    Manager {
        name: "swift",
        works: &["build", "test", "run", "format"],
        looks: &[],
        net: &["package"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "rustup",
        works: &[],
        looks: &["show", "which", "help"],
        net: &["update", "install", "toolchain", "component", "target", "default", "override", "self", "run"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "conda",
        works: &["run"],
        looks: &["list", "info", "env"],
        net: &["install", "create", "update", "remove", "search"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "deno",
        works: &["test", "fmt", "lint", "check", "bench", "doc", "run", "task", "coverage", "compile"],
        looks: &["info", "types"],
        net: &["install", "add", "cache", "upgrade", "publish", "deploy", "init", "outdated"],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "terraform",
        works: &["fmt", "validate", "graph"],
        looks: &["version", "help"],
        net: &[
            "init", "plan", "apply", "destroy", "import", "refresh", "login", "state", "output", "show",
            "get",
        ],
        scripts: false,
        bare_fetches: false,
    },
    Manager {
        name: "helm",
        works: &["lint", "template"],
        looks: &["version", "help"],
        net: &["install", "upgrade", "uninstall", "repo", "pull", "push", "dependency", "list", "rollback"],
        scripts: false,
        bare_fetches: false,
    },
];

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
    ("npm", &["--script-shell", "--userconfig", "--globalconfig", "-g", "--global"]),
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

/// What the builder does; `None` when it is none.
pub fn judge(call: &Call, place: &Place) -> Option<Finding> {
    let name = call.name();
    let name = ALIKE.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known);
    let args = call.args();
    let known = MANAGERS.iter().any(|manager| manager.name == name)
        || TOOLS.contains(&name)
        || TOOLS.contains(&unversioned(name));
    if (known || matches!(name, "make" | "gmake")) && super::lookers::asks_version(args) {
        return Some(Finding::looks());
    }
    let ours = || {
        Finding::new(Grade::Works, "it builds, tests or checks the project")
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
            arg.text == *option || (option.len() > 2 && arg.text.starts_with(&format!("{option}=")))
        });
        if given {
            finding.raise(Finding::new(Grade::Unsure, format!("it is told by {option} to do more")));
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

fn written(value: &Arg, call: &Call, place: &Place) -> Finding {
    match place.changing(value, &call.folders) {
        Changing::Outside(what) | Changing::Everything(what) => {
            Finding::new(Grade::Guarded, format!("it writes to {what}, outside the workspace"))
                .with(Effect::Write(what))
        }
        _ => Finding::looks(),
    }
}

/// `gcc-13` is `gcc`.
pub fn unversioned(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

fn managed(manager: &Manager, call: &Call) -> Finding {
    let name = manager.name;
    let args = call.args();
    let run = Effect::Run(format!("{name} code of the project"));
    let net = |what: &str| {
        Finding::new(Grade::Network, format!("{name} {what} needs the network"))
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
        if super::lookers::asks_version(args) {
            return Finding::looks();
        }
        if manager.bare_fetches {
            return net("install");
        }
        return Finding::new(Grade::Unsure, format!("what {name} does is not known")).with(run);
    };
    let Some(sub) = sub.certain() else {
        return Finding::new(Grade::Unsure, format!("what {name} does is not known")).with(run);
    };
    if name == "go" {
        if sub == "mod" {
            let second = words.get(1).map_or("", |word| word.text.as_str());
            return match second {
                "graph" | "why" | "verify" | "edit" | "init" | "vendor" => {
                    Finding::new(Grade::Works, "it works on the module file").with(run)
                }
                _ => net("mod"),
            };
        }
        if words.iter().any(|word| word.text.contains('@')) {
            return net(sub);
        }
        if sub == "env" && options::has(args, &["-w", "-u"]) {
            return Finding::new(Grade::Guarded, "it changes go's settings for every project");
        }
        if sub == "clean" && args.iter().any(|arg| arg.text.ends_with("cache")) {
            return Finding::new(Grade::Unsure, "it empties go's cache");
        }
    }
    if matches!(name, "mvn" | "gradle")
        && words.iter().any(|word| manager.net.contains(&word.text.trim_start_matches(':')))
    {
        return net("publish");
    }
    if name == "cargo" && sub == "test" && args.iter().any(|arg| arg.text.starts_with("--config")) {
        return Finding::new(Grade::Unsure, "it is told by --config to do more").with(run);
    }
    if manager.net.contains(&sub) {
        return net(sub);
    }
    if manager.looks.contains(&sub) {
        return Finding::looks();
    }
    if manager.works.contains(&sub) || manager.scripts || (name == "mvn" && !sub.contains(':')) {
        return Finding::new(Grade::Works, "it builds, tests or checks the project").with(run);
    }
    Finding::new(Grade::Unsure, format!("what {name} {sub} does is not known")).with(run)
}

fn make(call: &Call) -> Finding {
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
        return Finding::new(Grade::Outside, format!("`make {}` reaches beyond the workspace", target.text))
            .with(run);
    }
    let other = options::value(args, "-f", "--file").or_else(|| options::value(args, "-f", "--makefile"));
    let elsewhere = |arg: &Arg| {
        arg.certain().is_none() || arg.text.starts_with('/') || arg.text.contains("..") || arg.text == "-"
    };
    if other.as_ref().is_some_and(elsewhere) {
        return Finding::new(Grade::Unsure, "it runs a makefile from elsewhere").with(run);
    }
    // SHELL=, and what make expands itself.
    if args.iter().any(|arg| arg.text.starts_with("SHELL=") || arg.text.contains("$(shell")) {
        return Finding::new(Grade::Unsure, "it is told to run something else").with(run);
    }
    Finding::new(Grade::Works, "it runs a target of the project's makefile").with(run)
}

/// `npx` runs what the project has installed, and fetches what it has not.
fn npx(call: &Call, place: &Place) -> Finding {
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
                return Finding::new(Grade::Works, "it runs a tool of the project")
                    .with(Effect::Run(tool.to_owned()));
            }
            Finding::new(Grade::Network, format!("npx may fetch {tool}")).with(Effect::Net("npx".to_owned()))
        }
        _ => Finding::new(Grade::Network, "npx may fetch what it runs").with(Effect::Net("npx".to_owned())),
    }
}
