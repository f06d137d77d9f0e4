//! Which commands check the project: tests, builds, linters, and runs of its own code. Viewing, searching, version control,
//! installing and moving files don't count.

use super::closing_lines::ran_tests;
use super::programs::{self, check_kind};
use base::model::observation::{Check, CheckKind};
use base::pattern::Pattern;
use base::search::words::listed;
use base::text::one_line;
use guard::shell::interpret::call::{Arg, Call, CallInput};

const NAME_CHARS: usize = 60;

/// The best check in a command, the last one of several. `calls` are the programs that it runs.
pub fn of_command(script: &str, calls: &[Call]) -> Option<Check> {
    let found: Vec<(usize, Check)> =
        calls.iter().enumerate().filter_map(|(at, call)| Some((at, of_call(call, 0)?))).collect();
    // A test tells more than a build, and a build more than running something.
    let rank = |check: &Check| match check.kind {
        CheckKind::Test => 3,
        CheckKind::Build => 2,
        CheckKind::Lint => 1,
        CheckKind::Run => 0,
    };
    let (at, mut check) = found.into_iter().max_by_key(|(at, check)| (rank(check), *at))?;
    let joined = script.replace("&&", " ").replace("2>&1", " ");
    let mut behind = calls[at + 1..].iter().map(Call::name);
    check.decides =
        behind.all(|name| ["echo", "printf"].contains(&name)) && !joined.contains([';', '|', '\n', '&']);
    Some(check)
}

/// Like [`of_command`]; an unknown program run through `npx` or the like is a check if its output says that tests ran.
pub fn of_run(script: &str, calls: &[Call], output: &str) -> Option<Check> {
    of_command(script, calls).or_else(|| of_runner(calls, output))
}

fn of_runner(calls: &[Call], output: &str) -> Option<Check> {
    let runner = calls.iter().find(|call| programs::is("runner", call.name()))?;
    let words: Vec<&str> = runner.argv.iter().take(2).map(|arg| arg.text.as_str()).collect();
    let check = check(words.join(" "), CheckKind::Test, &[]);
    (ran_tests(output) == Some(true)).then_some(Check { decides: false, ..check })
}

fn of_call(call: &Call, depth: usize) -> Option<Check> {
    let words: Vec<&str> = call.argv.iter().map(|arg| arg.text.as_str()).collect();
    if matches!(call.input, CallInput::Text(_)) && programs::is("interpreter", call.name()) {
        return Some(check(format!("{} script", call.name()), CheckKind::Run, &[]));
    }
    call.argv.first().and_then(Arg::certain)?;
    of_words(&words, depth)
}

fn check(name: String, kind: CheckKind, targets: &[&str]) -> Check {
    let targets =
        targets.iter().filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned()).collect();
    Check { name: one_line(&name, NAME_CHARS), kind, targets, decides: true }
}

fn of_words(words: &[&str], depth: usize) -> Option<Check> {
    let (path, args) = words.split_first()?;
    let is_value = |at: usize| at > 0 && programs::is("option-with-value", args[at - 1]);
    let args: Vec<&str> = (0..args.len()).filter(|at| !is_value(*at)).map(|at| args[at]).collect();
    let args = args.as_slice();
    let name = path.rsplit('/').next().unwrap_or(path);
    // `--help` and the like check nothing, unless an interpreter passes them to the project's own code.
    if args.iter().any(|arg| programs::is("looks", arg))
        && programs::rows(name).any(|(kind, _)| kind != "interpreter")
    {
        return None;
    }
    let is_option = |arg: &&&str| arg.starts_with('-') || arg.starts_with('+');
    let first = args.iter().position(|arg| !is_option(&arg));
    let sub = first.map_or("", |at| args[at]);
    let rest = first.map_or(&[][..], |at| &args[at + 1..]);
    for (kind, subs) in programs::rows(name).filter_map(|(kind, subs)| Some((check_kind(kind)?, subs))) {
        if subs.is_empty() {
            let cleans = |target: &&str| ["clean", "distclean", "help"].contains(target);
            let mut targets = args.iter().filter(|arg| !is_option(arg));
            return (sub.is_empty() || targets.any(|target| !cleans(target)))
                .then(|| check(name.to_owned(), kind, args));
        }
        // In `mvn -q clean test`, any of the words may be the goal.
        if let Some(goal) = args.iter().find(|arg| listed(subs, arg)).filter(|goal| {
            **goal == sub
                || goal.starts_with("--")
                || ["mvn", "mvnw", "gradle", "gradlew", "bazel"].contains(&name)
        }) {
            return Some(check(format!("{name} {goal}"), kind, rest));
        }
    }
    if programs::is("script-runner", name) {
        let named = rest.iter().find(|arg| !is_option(arg)).copied().unwrap_or_default();
        let script = if ["run", "run-script", "task"].contains(&sub) { named } else { sub };
        if let Some(kind) = kind_of_script(script) {
            let shown = if sub == script { script.to_owned() } else { format!("{sub} {script}") };
            return Some(check(format!("{name} {shown}"), kind, &[]));
        }
    }
    let starts = |(kind, subs): &(&str, &str)| *kind == "runner" && (subs.is_empty() || listed(subs, sub));
    if let Some((_, subs)) = programs::rows(name).find(starts)
        && depth < 3
    {
        let after = if subs.is_empty() { args } else { rest };
        let begin = after.iter().position(|arg| !is_option(&arg)).unwrap_or(after.len());
        return of_words(&after[begin..], depth + 1);
    }
    if programs::is("client", name) {
        let local = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
        let asks = args.iter().any(|arg| local.iter().any(|host| arg.contains(host)));
        let database = programs::is("database", name) && !args.contains(&"-h");
        return (asks || database).then(|| check(words.join(" "), CheckKind::Run, &[]));
    }
    if name == "nginx" && args.contains(&"-t") {
        return Some(check("nginx -t".to_owned(), CheckKind::Lint, &[]));
    }
    let mut script = args.iter().skip_while(|arg| **arg != "-f").skip(1);
    if let Some(file) = script.next().filter(|_| programs::is("script-reader", name)) {
        return Some(check(format!("{name} -f {file}"), CheckKind::Run, &[]));
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if programs::is("interpreter", name) || programs::is("interpreter", plain) {
        return of_interpreter(name, plain, args);
    }
    let own = path.contains('/') && !path.starts_with('/') && !path.starts_with('~');
    let installed = ["/bin/activate", "node_modules/"].iter().any(|part| path.contains(part));
    (own && !installed).then(|| check((*path).to_owned(), CheckKind::Run, args))
}

fn of_interpreter(name: &str, plain: &str, args: &[&str]) -> Option<Check> {
    if ["bash", "sh", "zsh"].contains(&plain) && args.contains(&"-n") {
        return Some(check(format!("{name} -n"), CheckKind::Lint, &[]));
    }
    if plain == "node" && args.contains(&"--test") {
        return Some(check("node --test".to_owned(), CheckKind::Test, args));
    }
    if plain == "node" && args.contains(&"--check") {
        return Some(check("node --check".to_owned(), CheckKind::Lint, args));
    }
    let at = args.iter().position(|arg| !arg.starts_with('-') || ["-c", "-m", "-e", "-jar"].contains(arg))?;
    let (word, rest) = (args[at], &args[at + 1..]);
    static FILTERS: Pattern = Pattern::new(r"^--print$|^-[0-9alsw]*[pni]");
    if ["perl", "ruby", "node"].contains(&plain) && args[..at].iter().any(|arg| FILTERS.is_match(arg)) {
        return None;
    }
    match word {
        "-m" if plain.starts_with("python") => {
            let module = rest.first()?;
            if programs::is("module-tool", module) {
                return None;
            }
            let kind = programs::rows(module).find_map(|(kind, _)| check_kind(kind.strip_prefix("module-")?));
            if kind.is_some() && rest.iter().any(|arg| programs::is("looks", arg)) {
                return None;
            }
            Some(check(format!("{name} -m {module}"), kind.unwrap_or(CheckKind::Run), &rest[1..]))
        }
        "-c" | "-e" | "-m" => Some(check(format!("{name} {word}"), CheckKind::Run, &[])),
        file => Some(check(format!("{name} {file}"), CheckKind::Run, rest)),
    }
}

fn kind_of_script(name: &str) -> Option<CheckKind> {
    let is = |kind: &&str| {
        name.split([':', '-', '_', '.']).any(|word| programs::is(&format!("named-{kind}"), word))
    };
    ["test", "build", "lint", "run"].into_iter().find(is).and_then(check_kind)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::path::Path;

    use guard::shell::interpret::interpreter;

    use super::*;

    fn of_text(script: &str) -> Option<Check> {
        of_command(script, &interpreter::calls(script, Path::new("/"), None).unwrap_or_default())
    }

    use CheckKind::{Build, Lint, Run, Test};

    #[test]
    fn commands_that_check() {
        for (script, name, kind) in [
            ("cargo test -q 2>&1 | tail -5", "cargo test", Test),
            ("cd a && cargo +nightly clippy --all", "cargo clippy", Lint),
            ("python3 -m pytest tests/test_a.py -x", "python3 -m pytest", Test),
            (".venv/bin/python -m pytest", "python -m pytest", Test),
            ("python3 -m pytest -p no:cacheprovider -q", "python3 -m pytest", Test),
            ("python3 todo.py --list", "python3 todo.py", Run),
            ("./todo --version", "./todo", Run),
            ("uv run pytest -q", "pytest", Test),
            ("npx vitest run", "vitest", Test),
            ("npx tape 'test/**/*.js' 2>&1 | tail -5", "tape", Test),
            ("npx nyc tape test", "tape", Test),
            ("npm run test:unit", "npm run test:unit", Test),
            ("npm test", "npm test", Test),
            ("npm --prefix web test", "npm test", Test),
            ("npx --prefix web tsc --noEmit", "tsc", Lint),
            ("pnpm --filter web run build", "pnpm run build", Build),
            ("go -C web test ./...", "go test", Test),
            ("uv run --with pytest pytest -q", "pytest", Test),
            ("pnpm -r build", "pnpm build", Build),
            ("make", "make", Build),
            ("make clean check", "make", Build),
            ("awk -f a.awk x | diff - y", "awk -f a.awk", Run),
            ("prove -l t", "prove", Test),
            ("cobc -x -o a a.cob && ./a", "cobc", Build),
            ("mvn -q clean verify", "mvn verify", Test),
            ("./gradlew test", "gradlew test", Test),
            ("go test ./...", "go test", Test),
            ("timeout 60 go vet ./...", "go vet", Lint),
            ("python3 - <<'E'\nprint(1)\nE", "python3 script", Run),
            ("python3 -c 'import a'", "python3 -c", Run),
            ("./run.sh --fast", "./run.sh", Run),
            ("bash -n run.sh", "bash -n", Lint),
            ("curl -s http://localhost:8000/x", "curl -s http://localhost:8000/x", Run),
            ("gcc -o a a.c && ./a", "gcc", Build),
            ("bundle exec rspec spec/a_spec.rb", "rspec", Test),
            ("dotnet test", "dotnet test", Test),
        ] {
            let found = of_text(script).unwrap_or_else(|| panic!("{script}"));
            assert_eq!((found.name.as_str(), found.kind), (name, kind), "{script}");
        }
    }

    #[test]
    fn commands_that_only_look_or_change() {
        for script in [
            "cat a.py",
            "git status",
            "pip install -e .",
            "python3 -m pip install x",
            "cargo --version",
            "pytest --collect-only",
            "python3 -m pytest --collect-only",
            "python3 --version",
            "node -p 'process.version'",
            "npm install",
            "make clean",
            "ls -la",
            "sed -i s/a/b/ x.py",
            "perl -pi -e s/a/b/ x.py",
            "perl -lne 'print if /a/' x.py",
            "curl https://example.org",
            "cargo fmt",
            "mv a b",
            "cargo test --no-run",
            "grep -rn test .",
        ] {
            assert_eq!(of_text(script), None, "{script}");
        }
    }

    #[test]
    fn a_runner_says_that_tests_ran() {
        let of = |script: &str, output: &str| {
            let calls = interpreter::calls(script, Path::new("/"), None).unwrap_or_default();
            of_runner(&calls, output).map(|check| check.name)
        };
        let output = "ok 1 a\n\n# tests 12\n# pass 12\n";
        assert_eq!(of("npx new-runner 'test/*.js' | tail -5", output).as_deref(), Some("npx new-runner"));
        assert_eq!(of("npx prettier --write .", "a.js 12ms\n"), None);
        assert_eq!(of("cat test.log", output), None);
    }

    #[test]
    fn who_decides_the_exit_code() {
        for (script, decides) in [
            ("cargo test", true),
            ("cd a && cargo test 2>&1", true),
            ("cargo test | tail", false),
            ("cargo test; ls", false),
        ] {
            assert_eq!(of_text(script).unwrap().decides, decides, "{script}");
        }
    }
}
