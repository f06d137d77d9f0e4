//! A first, careful look at a shell command: which simple commands it is made of, and whether they only look around.
//! What cannot be split with certainty (substitutions, heredocs, control words) is not judged: it is `None`, and the
//! verdict asks. Knows nothing of permission levels.

/// Programs that only read and print when called without telling options; the value lists arguments that make them
/// do more.
const LOOKING: &[(&str, &[&str])] = &[
    ("ls", &[]),
    ("pwd", &[]),
    ("cat", &[]),
    ("head", &[]),
    ("tail", &["-f", "-F", "--follow"]),
    ("wc", &[]),
    ("echo", &[]),
    ("printf", &["-v"]),
    ("true", &[]),
    ("false", &[]),
    ("which", &[]),
    ("file", &["-C", "--compile"]),
    ("stat", &[]),
    ("du", &[]),
    ("df", &[]),
    ("uname", &[]),
    ("whoami", &[]),
    ("id", &[]),
    ("date", &["-s", "--set"]),
    ("basename", &[]),
    ("dirname", &[]),
    ("realpath", &[]),
    ("readlink", &[]),
    ("cut", &[]),
    ("tr", &[]),
    ("uniq", &[]),
    ("nl", &[]),
    ("diff", &[]),
    ("cmp", &[]),
    ("grep", &[]),
    ("egrep", &[]),
    ("fgrep", &[]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    ("sort", &["-o", "--output", "--compress-program", "-T"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fprint0", "-fls"]),
];

/// Sub-commands of git that only read.
const GIT_LOOKING: &[&str] =
    &["status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog"];

/// The simple commands of a line joined by `&&`, `||`, `;`, `|`, each as words; `None` when the line holds anything
/// whose meaning this splitter does not know for certain.
pub fn split(command: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '!' => return None,
                        '\\' => match chars.next()? {
                            escaped @ ('"' | '\\') => word.push(escaped),
                            '$' | '`' => return None,
                            other => {
                                word.push('\\');
                                word.push(other);
                            }
                        },
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                escaped => word.get_or_insert_default().push(escaped),
            },
            ' ' | '\t' => words.extend(word.take()),
            '\n' | ';' | '|' | '&' => {
                words.extend(word.take());
                match (c, chars.peek()) {
                    ('|', Some('|')) | ('&', Some('&')) => {
                        chars.next();
                    }
                    ('&', _) | ('|', Some('&')) | (';', Some(';')) => return None,
                    _ => {}
                }
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                } else if c != '\n' {
                    return None;
                }
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '<' | '>' | '#' | '!' => return None,
            '*' | '?' | '[' | ']' | '~' => {
                // A pattern can expand to anything, also to an option; fine for an argument, not for a program.
                if words.is_empty() {
                    return None;
                }
                word.get_or_insert_default().push(c);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.take());
    if !words.is_empty() {
        commands.push(words);
    }
    (!commands.is_empty()).then_some(commands)
}

/// Whether the command certainly only looks around, so that it may run without a question even in read-only.
pub fn only_looks(command: &str) -> bool {
    // `2>/dev/null` and `2>&1` change nothing; every other redirection makes `split` give up.
    let plain = command.replace("2>/dev/null", " ").replace("2>&1", " ").replace("2> /dev/null", " ");
    split(&plain).is_some_and(|commands| commands.iter().all(|words| looks(words)))
}

fn looks(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    if args.iter().any(|arg| leaves_workspace(arg)) {
        return false;
    }
    if program == "git" {
        let plain = args.first().is_some_and(|sub| GIT_LOOKING.contains(&sub.as_str()));
        const WRITES: [&str; 4] = ["--output", "--ext-diff", "--textconv", "-O"];
        return plain && !args.iter().any(|arg| WRITES.iter().any(|bad| arg.starts_with(bad)));
    }
    let Some((_, doing_more)) = LOOKING.iter().find(|(name, _)| name == program) else { return false };
    !args.iter().any(|arg| doing_more.iter().any(|bad| is_option(arg, bad)))
}

/// `arg` is the option `bad`, also joined with a value or, for one letter, inside a bundle.
fn is_option(arg: &str, bad: &str) -> bool {
    if bad.starts_with("--") || bad.len() > 2 {
        let name = arg.split('=').next().unwrap_or(arg);
        // GNU programs accept shortened long options.
        return name == bad || (arg.starts_with("--") && name.len() > 3 && bad.starts_with(name));
    }
    let letter = bad.trim_start_matches('-');
    arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
}

fn leaves_workspace(arg: &str) -> bool {
    let value = arg.split_once('=').map_or(arg, |(_, value)| value);
    value.starts_with('/') && value != "/dev/null"
        || value.starts_with('~')
        || value.split('/').any(|part| part == "..")
}

/// Programs of which the first word alone says too little: the prefix for "always allow" takes the second word too.
const WITH_SUBCOMMAND: &[&str] = &[
    "cargo", "git", "npm", "pnpm", "yarn", "go", "make", "uv", "poetry", "docker", "kubectl", "dotnet",
    "mvn", "gradle", "bundle", "rake", "just", "bazel", "swift", "mix", "composer", "pip", "rustup", "deno",
    "bun",
];

/// Programs that run whatever they are given: no prefix of theirs can be allowed for ever.
const RUNS_ANYTHING: &[&str] = &[
    "bash", "sh", "zsh", "fish", "dash", "env", "xargs", "sudo", "doas", "su", "eval", "exec", "python",
    "python3", "node", "perl", "ruby", "php", "lua", "awk", "sed", "find", "ssh", "curl", "wget", "nc", "rm",
    "dd", "nohup", "timeout", "time", "command", "npx", "uvx", "source", ".",
];

/// What "always" would allow: `cargo test` for `cargo test --lib x`. `None` for anything but one plain command.
pub fn general_prefix(command: &str) -> Option<String> {
    let commands = split(command)?;
    let [words] = commands.as_slice() else { return None };
    let program = words.first()?;
    if program.contains('=') || RUNS_ANYTHING.contains(&program.as_str()) {
        return None;
    }
    match words.get(1) {
        Some(sub) if WITH_SUBCOMMAND.contains(&program.as_str()) => {
            (!sub.starts_with('-')).then(|| format!("{program} {sub}"))
        }
        None if WITH_SUBCOMMAND.contains(&program.as_str()) && program != "make" => None,
        _ => Some(program.clone()),
    }
}

/// Whether every simple command of the line begins with one of the prefixes (or only looks around).
pub fn covered(command: &str, prefixes: &[String]) -> bool {
    let starts = |words: &[String], prefix: &str| {
        let mut wanted = prefix.split(' ');
        let mut have = words.iter().map(String::as_str);
        wanted.all(|word| have.next() == Some(word))
    };
    split(command).is_some_and(|commands| {
        commands.iter().all(|words| looks(words) || prefixes.iter().any(|prefix| starts(words, prefix)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_around() {
        for command in [
            "ls -la src",
            "git status && git diff --stat",
            "grep -rn 'rm -rf' src | head -5",
            "cat a.txt 2>/dev/null | wc -l",
            "find . -name '*.rs'",
        ] {
            assert!(only_looks(command), "{command}");
        }
        for command in [
            "rm -rf x",
            "cat a > b",
            "echo $(rm x)",
            "ls; rm x",
            "ls & rm x",
            "find . -exec rm {} +",
            "find . -delete",
            "cat /etc/passwd",
            "cat ~/.ssh/id_rsa",
            "cat ../../secret",
            "git -c core.pager=evil log",
            "git diff --output=x",
            "rg --pre evil x",
            "sort -ofile x",
            "sort --outp x y",
            "cat <(rm x)",
            "`rm x`",
            "echo \"$(rm x)\"",
            "FOO=1 ls",
            "",
            "l\\s; rm",
            "tail -f x",
        ] {
            assert!(!only_looks(command), "{command}");
        }
    }

    #[test]
    fn prefixes_are_general_but_not_reckless() {
        assert_eq!(general_prefix("cargo test --lib x").as_deref(), Some("cargo test"));
        assert_eq!(general_prefix("pytest -q tests/a.py").as_deref(), Some("pytest"));
        assert_eq!(general_prefix("bash -c 'x'"), None);
        assert_eq!(general_prefix("git -C /x push"), None);
        assert_eq!(general_prefix("a && b"), None);
        let prefixes = ["cargo test".to_owned()];
        assert!(covered("cargo test --lib && git status", &prefixes));
        assert!(!covered("cargo test && rm x", &prefixes));
        assert!(!covered("cargo testx", &prefixes));
    }
}
