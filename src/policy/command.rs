//! Whether a command certainly only looks around, so that it may run without a question. What is not known for certain
//! is not looking. Knows nothing of permission levels.

use super::place::Place;
use super::programs;
use super::shell::{Simple, Word, split};

/// Programs that only read and print when called without telling options; the value lists arguments that make them
/// do more.
const LOOKING: &[(&str, &[&str])] = &[
    ("ls", &["-L", "--dereference"]),
    ("pwd", &[]),
    ("cat", &[]),
    ("head", &[]),
    ("tail", &["-f", "-F", "--follow"]),
    ("wc", &["--files0-from"]),
    ("echo", &[]),
    ("printf", &["-v"]),
    ("true", &[]),
    ("false", &[]),
    ("which", &[]),
    ("file", &["-C", "--compile", "-f", "--files-from", "-z", "-Z", "--uncompress", "--uncompress-noreport"]),
    ("stat", &[]),
    ("du", &["-L", "--dereference", "--files0-from"]),
    ("df", &[]),
    ("uname", &[]),
    ("whoami", &[]),
    ("id", &[]),
    ("date", &[]),
    ("basename", &[]),
    ("dirname", &[]),
    ("realpath", &[]),
    ("readlink", &[]),
    ("cut", &[]),
    ("tr", &[]),
    ("uniq", &[]),
    ("nl", &[]),
    ("diff", &["-r", "--recursive", "-l", "--paginate"]),
    ("cmp", &[]),
    ("grep", &["-R", "--dereference-recursive"]),
    ("egrep", &["-R", "--dereference-recursive"]),
    ("fgrep", &["-R", "--dereference-recursive"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip", "-L", "--follow"]),
    ("sort", &["-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"]),
    (
        "find",
        &[
            "-L",
            "-follow",
            "-files0-from",
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprintf",
            "-fprint0",
            "-fls",
        ],
    ),
];

/// Programs that open none of the files which their words may name.
const OPENS_NOTHING: &[&str] =
    &["echo", "printf", "true", "false", "basename", "dirname", "tr", "uname", "date"];

const GREPS: &[&str] = &["grep", "egrep", "fgrep", "rg"];

/// Sub-commands of git that only read, and options that make them do more.
const GIT_LOOKING: &[&str] =
    &["status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog"];
const GIT_DOING_MORE: &[&str] = &["--output", "--ext-diff", "--textconv", "-O", "--show-signature"];

/// Whether the whole line only looks around inside the workspace.
pub fn only_looks(command: &str, place: &Place) -> bool {
    split(command).is_some_and(|commands| commands.iter().all(|simple| looks(simple, place)))
}

/// Whether one simple command changes nothing and reads nothing outside.
pub fn looks(simple: &Simple, place: &Place) -> bool {
    if !harmless(&simple.words) || !quiet(simple, place) {
        return false;
    }
    let Some((program, args)) = simple.words.split_first() else { return false };
    let program = program.text.as_str();
    let pattern = GREPS.contains(&program).then(|| pattern_of(args)).flatten();
    args.iter().enumerate().all(|(at, arg)| {
        // A delimiter, not a path.
        let delimiter = matches!((program, arg.text.as_str()), ("cut", "-d/") | ("sort", "-t/"));
        let names_nothing = arg.glob_at.is_none() && OPENS_NOTHING.contains(&program);
        delimiter || names_nothing || pattern == Some(at) || place.may_read(arg)
    })
}

/// Whether the command's redirections write nothing and read nothing outside.
pub fn quiet(simple: &Simple, place: &Place) -> bool {
    simple.redirects.iter().all(|redirect| {
        let target = &redirect.target;
        target.text == "/dev/null" || (!redirect.writes && target.glob_at.is_none() && place.may_read(target))
    })
}

/// Whether the program with these options changes nothing, wherever it looks.
pub fn harmless(words: &[Word]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let (doing_more, args) = if program.text == "git" {
        match args.split_first() {
            Some((sub, rest)) if GIT_LOOKING.contains(&sub.text.as_str()) => (GIT_DOING_MORE, rest),
            _ => return false,
        }
    } else {
        match LOOKING.iter().find(|(name, _)| *name == program.text) {
            Some((_, doing_more)) => (*doing_more, args),
            None => return false,
        }
    };
    let positional = |arg: &&Word| !arg.text.starts_with('-') || arg.text == "-";
    match program.text.as_str() {
        // Its second file is written.
        "uniq" => {
            let files: Vec<_> = args.iter().filter(positional).collect();
            return files.len() <= 1 && args.iter().all(|arg| arg.glob_at.is_none());
        }
        // Any other word sets the clock or reads a file.
        "date" => return args.iter().all(|arg| arg.text.starts_with('+') || arg.text == "-u"),
        _ => {}
    }
    let mut after_dashes = false;
    args.iter().all(|arg| {
        // A file's name can be an option: `--output=x`.
        let can_be_option = arg.glob_at.is_some_and(|at| {
            // Behind `--name=` only the value is open.
            let named = arg.text.starts_with("--") && arg.text[..at].contains('=');
            at == 0 || (arg.text.starts_with('-') && !named)
        });
        let fine = (!can_be_option || after_dashes || doing_more.is_empty())
            && !doing_more.iter().any(|bad| is_option(&arg.text, bad));
        // `find` takes options also after `--`.
        after_dashes |= arg.text == "--" && program.text != "find";
        fine
    })
}

/// Whether the name is that of a program in the table of those that can only look.
pub fn is_looker(program: &str) -> bool {
    LOOKING.iter().any(|(name, _)| *name == programs::name(program))
}

/// Which argument of a grep is its pattern, which may hold anything; `None` where options make that unsure.
fn pattern_of(args: &[Word]) -> Option<usize> {
    const LONG: [&str; 5] = ["--include=", "--exclude=", "--exclude-dir=", "--color=", "--glob="];
    let sure = |text: &str| match text.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => letters
            .chars()
            .all(|letter| letter.is_ascii_digit() || "rnilwcvEFPoHhsxqIaABCmg".contains(letter)),
        Some(_) => LONG.iter().any(|long| text.starts_with(long)),
        None => true,
    };
    let first = args.iter().position(|arg| !arg.text.starts_with('-'))?;
    (args[first].glob_at.is_none() && args.iter().all(|arg| sure(&arg.text))).then_some(first)
}

/// `arg` is the option `bad`, also shortened, joined with a value or, for one letter, inside a bundle.
fn is_option(arg: &str, bad: &str) -> bool {
    if bad.len() > 2 {
        let name = arg.split('=').next().unwrap_or(arg);
        // GNU programs accept long options shortened to a single letter.
        return name == bad || (name.len() > 2 && name.starts_with("--") && bad.starts_with(name));
    }
    let letter = bad.trim_start_matches('-');
    arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn looking_around() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), "").unwrap();
        symlink("/etc", root.join("link")).unwrap();
        let looks = |command: &str| only_looks(command, &Place::new(&root, &[], &root));
        for command in [
            "ls -la src",
            "git status && git diff --stat",
            "git log --oneline -5 main..topic",
            "git show HEAD~1:src/a.rs",
            "git log -- *.rs",
            "grep -rn 'rm -rf' src | head -5",
            "grep -rn '/etc/passwd' src",
            "grep -rn --include=*.rs '^use$' .",
            "cat a.txt 2>/dev/null | wc -l",
            "cat src/*.rs >/dev/null 2>&1",
            "wc -l src/a* < src/a.rs",
            "find . -name '*.rs' ! -path './target/*'",
            "sort -u ./*.txt",
            "sort -- *.rs",
            "uniq -c f",
            "date -u '+%F'",
            "echo /etc '~' ..",
            "cut -d/ -f1 src/a.rs",
            "cat \"src\"/a.rs # it is short",
        ] {
            assert!(looks(command), "{command}");
        }
        for command in [
            "rm -rf x",
            "cat a > b",
            "echo $(rm x)",
            "ls; rm x",
            "ls & rm x",
            "find . -exec rm {} +",
            "find . -exec rm x +",
            "find . -delete",
            "find -L . -name x",
            "find -- *",
            "cat /etc/passwd",
            "cat ~/.ssh/id_rsa",
            "cat ../../secret",
            "cat </etc/passwd",
            "cat link/hostname",
            "cat l*/hostname",
            "cat <link/hostname",
            "git -c core.pager=evil log",
            "git diff --output=x",
            "git diff --out=x",
            "git diff --no-index /etc/passwd x",
            "rg --pre evil x",
            "rg x *",
            "sort *",
            "sort -*",
            "sort -ofile x",
            "sort --outp x y",
            "sort --o=victim f",
            "sort \"--out\\\nput=victim\" f",
            "sort --files0-from=f",
            "wc --files0=f",
            "uniq f victim",
            "uniq - victim",
            "uniq f*",
            "date 010100002030",
            "date -s x",
            "date -f/etc/x",
            "file -f/etc/x",
            "file -flist",
            "grep -f/etc/x .",
            "grep -f../x .",
            "grep -flink/x .",
            "grep /etc/passwd -e root",
            "grep -R x .",
            "echo x2>&1file",
            "ls 2>/dev/nullfoo",
            "ls 2>&1 >f",
            "printf -v x y",
            "cat <(rm x)",
            "`rm x`",
            "echo \"$(rm x)\"",
            "FOO=1 ls",
            "",
            "l\\s; rm",
            "tail -f x",
            "./ls",
            "/tmp/cat x",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
