//! Programs that only read and print, and the options that make them do more. Flat tables.

use super::options;
use crate::policy::path_scope::PathScope;
use crate::shell::interpret::call::{Arg, Call};

/// How a program reads what its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Nothing: its words are only words.
    Nothing,
    /// Names and sizes, no contents.
    Names,
    /// The files.
    Files,
    /// The files and, below folders, everything.
    Trees,
}

struct ReaderRule {
    name: &'static str,
    opens: Opens,
    /// Options that make it do more.
    more: &'static [&'static str],
}

const fn looker(name: &'static str, opens: Opens, more: &'static [&'static str]) -> ReaderRule {
    ReaderRule { name, opens, more }
}

use Opens::{Files, Names, Nothing, Trees};

const LOOKERS: &[ReaderRule] = &[
    looker(":", Nothing, &[]),
    looker("true", Nothing, &[]),
    looker("false", Nothing, &[]),
    looker("echo", Nothing, &[]),
    looker("printf", Nothing, &[]),
    looker("exit", Nothing, &[]),
    looker("return", Nothing, &[]),
    looker("break", Nothing, &[]),
    looker("continue", Nothing, &[]),
    looker("shift", Nothing, &[]),
    looker("wait", Nothing, &[]),
    looker("jobs", Nothing, &[]),
    looker("let", Nothing, &[]),
    looker("set", Nothing, &[]),
    looker("export", Nothing, &[]),
    looker("declare", Nothing, &[]),
    looker("typeset", Nothing, &[]),
    looker("local", Nothing, &[]),
    looker("readonly", Nothing, &[]),
    looker("unset", Nothing, &[]),
    looker("read", Nothing, &[]),
    looker("mapfile", Nothing, &["-C"]),
    looker("readarray", Nothing, &["-C"]),
    looker("getopts", Nothing, &[]),
    looker("umask", Nothing, &[]),
    looker("ulimit", Nothing, &[]),
    looker("times", Nothing, &[]),
    looker("test", Names, &[]),
    looker("[", Names, &[]),
    looker("cd", Names, &[]),
    looker("pushd", Names, &[]),
    looker("popd", Nothing, &[]),
    looker("dirs", Nothing, &[]),
    looker("type", Nothing, &[]),
    looker("command", Nothing, &[]),
    looker("trap", Nothing, &[]),
    looker("sleep", Nothing, &[]),
    looker("seq", Nothing, &[]),
    looker("yes", Nothing, &[]),
    looker("expr", Nothing, &[]),
    looker("env", Nothing, &["-S", "--split-string"]),
    looker("printenv", Nothing, &[]),
    looker("locale", Nothing, &[]),
    looker("nproc", Nothing, &[]),
    looker("arch", Nothing, &[]),
    looker("tty", Nothing, &[]),
    looker("groups", Nothing, &[]),
    looker("free", Nothing, &[]),
    looker("uptime", Nothing, &[]),
    looker("cal", Nothing, &[]),
    looker("numfmt", Nothing, &[]),
    looker("factor", Nothing, &[]),
    looker("getconf", Nothing, &[]),
    looker("pgrep", Nothing, &[]),
    looker("pstree", Nothing, &[]),
    looker("pwd", Nothing, &[]),
    looker("which", Nothing, &[]),
    looker("whereis", Nothing, &[]),
    looker("uname", Nothing, &[]),
    looker("whoami", Nothing, &[]),
    looker("id", Nothing, &[]),
    looker("basename", Nothing, &[]),
    looker("dirname", Nothing, &[]),
    looker("tr", Nothing, &[]),
    looker("tput", Nothing, &[]),
    looker("clear", Nothing, &[]),
    looker("xargs", Nothing, &["-p", "--interactive", "-o", "--open-tty"]),
    looker("ls", Names, &[]),
    looker("dir", Names, &[]),
    looker("eza", Names, &[]),
    looker("exa", Names, &[]),
    looker("tree", Names, &["-o", "-R"]),
    looker("stat", Names, &[]),
    looker("du", Names, &["--files0-from"]),
    looker("df", Names, &[]),
    looker("file", Files, &["-C", "--compile", "-f", "--files-from", "-z", "-Z", "--uncompress"]),
    looker("realpath", Names, &[]),
    looker("readlink", Names, &[]),
    looker("cat", Files, &[]),
    looker("tac", Files, &[]),
    looker("bat", Files, &["--pager", "--paging", "-m", "--map-syntax", "--generate-config-file"]),
    looker("batcat", Files, &["--pager", "--paging"]),
    looker("less", Files, &["-o", "-O", "--log-file", "--LOG-FILE", "-k", "--lesskey-file", "+", "-T", "-t"]),
    looker("more", Files, &[]),
    looker("head", Files, &[]),
    looker("tail", Files, &["-f", "-F", "--follow", "--pid", "--retry"]),
    looker("wc", Files, &["--files0-from"]),
    looker("cut", Files, &[]),
    looker("uniq", Files, &[]),
    looker("nl", Files, &[]),
    looker("comm", Files, &[]),
    looker("paste", Files, &[]),
    looker("join", Files, &[]),
    looker("fold", Files, &[]),
    looker("fmt", Files, &[]),
    looker("expand", Files, &[]),
    looker("unexpand", Files, &[]),
    looker("column", Files, &[]),
    looker("rev", Files, &[]),
    looker("od", Files, &[]),
    looker("hexdump", Files, &["-f"]),
    looker("hd", Files, &[]),
    looker("strings", Files, &[]),
    looker("cksum", Files, &[]),
    looker("md5sum", Files, &[]),
    looker("sha1sum", Files, &[]),
    looker("sha256sum", Files, &[]),
    looker("sha512sum", Files, &[]),
    looker("b2sum", Files, &[]),
    looker("shasum", Files, &[]),
    looker("base64", Files, &[]),
    looker("tsort", Files, &[]),
    looker("zcat", Files, &[]),
    looker("xzcat", Files, &[]),
    looker("zgrep", Files, &[]),
    looker("nm", Files, &["--plugin", "@"]),
    looker("size", Files, &["@"]),
    looker("readelf", Files, &["@"]),
    looker("objdump", Files, &["--dwarf-follow-links", "@"]),
    looker("cmp", Files, &[]),
    looker("diff", Trees, &["-l", "--paginate"]),
    looker("colordiff", Trees, &[]),
    looker("grep", Trees, &[]),
    looker("egrep", Trees, &[]),
    looker("fgrep", Trees, &[]),
    looker("ugrep", Trees, &["--filter", "--pager", "--view", "-z", "--save-config"]),
    looker("rg", Trees, &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    looker("ag", Trees, &["--pager", "-z", "--search-zip"]),
    looker("ack", Trees, &["--pager", "--output", "--ackrc"]),
    looker(
        "cloc",
        Trees,
        &["--extract-with", "--config", "--diff-list-file", "--report-file", "--out", "--read-lang-def"],
    ),
    looker("tokei", Trees, &[]),
    looker("scc", Trees, &["-o", "--output"]),
    looker("jq", Files, &["-L", "--library-path"]),
    looker(
        "sort",
        Files,
        &["-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"],
    ),
    looker("date", Nothing, &[]),
    looker("man", Nothing, &["-P", "--pager", "-H", "--html", "-l", "--local-file", "-X", "-T", "-C", "-M"]),
    looker("tldr", Nothing, &[]),
    looker("ps", Nothing, &[]),
    looker("hostname", Nothing, &[]),
    looker("xxd", Files, &[]),
    looker("fd", Names, &[]),
    looker("fdfind", Names, &[]),
    looker("find", Names, &["-delete", "-fprint", "-fprintf", "-fprint0", "-fls", "-files0-from"]),
];

const GREPS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "ugrep"];

/// Programs of which `--version` is all that is asked.
const VERSIONED: &[&str] =
    &["--version", "-V", "-v", "version", "--help", "-h", "help", "-version", "-vV", "-Vv", "--info"];

/// How the call reads when it only looks; `None` when it may do more, or is no looker.
pub fn looks(call: &Call, place: &PathScope) -> Option<Opens> {
    let program = call.argv.first()?.certain()?;
    let standard =
        ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().find_map(|front| program.strip_prefix(front));
    let name = standard.unwrap_or(program);
    let args = call.args();
    let found = LOOKERS.iter().find(|looker| looker.name == name)?;
    let fine = match name {
        // Its second file is written.
        "uniq" => operand_count(args) <= 1,
        "xxd" => operand_count(args) <= 1 && !options::has(args, &["-r", "-revert"]),
        // Any other word sets the clock or reads a file.
        "date" => date_shows(args),
        "hostname" => operand_count(args) == 0 && !options::has(args, &["-F", "-b", "--file"]),
        // With `e` it shows variables of other programs.
        "ps" => args.iter().all(|arg| {
            arg.certain().is_some_and(|text| {
                let letters = text.trim_start_matches('-');
                text.starts_with("--")
                    || text.starts_with('-') && !letters.contains('E')
                    || !letters.contains(['e', 'E'])
            })
        }),
        // Whether a variable is set: bash evaluates what stands between brackets in its name.
        "test" | "[" => args.windows(2).all(|pair| {
            !matches!(pair[0].text.as_str(), "-v" | "-R")
                || pair[1].open_at.is_none() && !pair[1].text.contains('[')
        }),
        "set" => args.iter().all(|arg| !arg.front_is_open()),
        _ => true,
    };
    if !fine {
        return None;
    }
    let mut after_dashes = false;
    let harmless = args.iter().all(|arg| {
        let text = arg.text.as_str();
        let can_be_option = arg.front_is_open()
            || place.may_be_option(arg, &call.folders)
            || (text.starts_with('-') && arg.open_at.is_some_and(|at| !text[..at].contains('=')));
        let fine = (!can_be_option || after_dashes || found.more.is_empty())
            && (after_dashes || !found.more.iter().any(|bad| options::is(text, bad)));
        // `find` takes options also after `--`.
        after_dashes |= text == "--" && name != "find";
        fine
    });
    harmless.then_some(found.opens)
}

/// Whether the program, whatever it is, is only asked for its version.
pub fn asks_version(args: &[Arg]) -> bool {
    matches!(args, [one] if one.certain().is_some_and(|text| VERSIONED.contains(&text) && text.len() > 2))
        || matches!(args, [one] if matches!(one.certain(), Some("-V" | "-v")))
}

/// Whether a program that reads trees goes where links in them lead.
pub fn follows_links(call: &Call) -> bool {
    let letter = match call.name() {
        "grep" | "egrep" | "fgrep" | "ugrep" | "zgrep" => 'R',
        "rg" => 'L',
        "ag" => 'f',
        // It follows them unless it is told not to, but only where it is told to go down.
        "diff" | "colordiff" => 'r',
        _ => return false,
    };
    call.args().iter().any(|arg| {
        let text = arg.text.as_str();
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(letter))
            || ["--dereference-recursive", "--follow", "--recursive"].contains(&text)
                && !(text == "--recursive" && letter == 'R')
    })
}

/// Whether the name is that of a program in the table.
pub fn is_looker(name: &str) -> bool {
    LOOKERS.iter().any(|looker| looker.name == name)
}

fn operand_count(args: &[Arg]) -> usize {
    // A pattern or an unknown word may become several.
    let one = |arg: &Arg| if arg.certain().is_some() { 1 } else { 2 };
    args.iter()
        .filter(|arg| !arg.text.starts_with('-') || arg.text == "-" || arg.front_is_open())
        .map(one)
        .sum()
}

fn date_shows(args: &[Arg]) -> bool {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.certain().or_else(|| arg.text.starts_with('+').then_some(arg.text.as_str()))
        else {
            return false;
        };
        match text {
            "-u" | "--utc" | "-R" | "--rfc-email" | "-I" => {}
            "-d" | "--date" => at += 1,
            _ if text.starts_with('+') || text.starts_with("--date=") || text.starts_with("-I") => {}
            _ if text.starts_with("--iso-8601") || text.starts_with("--rfc-3339") => {}
            _ => return false,
        }
        at += 1;
    }
    true
}

/// Which argument of a grep is its pattern, which may hold anything; `None` where options make that unsure.
pub fn pattern_of(call: &Call) -> Option<usize> {
    const LONG: [&str; 10] = [
        "--include",
        "--exclude",
        "--color",
        "--glob=",
        "--type",
        "--no-",
        "--hidden",
        "--files-with",
        "--line-number",
        "--ignore-case",
    ];
    if !GREPS.contains(&call.name()) {
        return None;
    }
    let args = call.args();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        match text {
            // The next word is the pattern, or the value of an option.
            "-e" | "--regexp" => return Some(at + 1),
            "-t" | "-g" | "-A" | "-B" | "-C" | "-m" | "--glob" | "-T" | "--type" => at += 2,
            "--" => return Some(at + 1),
            _ if text.starts_with("--") => {
                if !LONG.iter().any(|long| text.starts_with(long)) {
                    return None;
                }
                at += 1;
            }
            _ if text.starts_with('-') && text.len() > 1 => {
                let letters = &text[1..];
                if letters.ends_with('e') && !letters.contains('f') {
                    return Some(at + 1);
                }
                let sure = letters
                    .chars()
                    .all(|c| c.is_ascii_digit() || "rnilwcvEFPoHhsxqIaRzuSNUpABCmL".contains(c));
                if !sure {
                    return None;
                }
                at += 1 + usize::from(letters.ends_with(['A', 'B', 'C', 'm']));
            }
            _ if arg.front_is_open() => return None,
            _ => return Some(at),
        }
    }
    None
}
