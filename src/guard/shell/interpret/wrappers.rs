//! Programs that run another program or script, and which one.

use super::call::{Arg, Call, CallInput, PIPED_SCRIPT};

#[derive(Debug)]
pub enum Inner {
    Nothing,
    Program {
        argv: Vec<Arg>,
        assignments: Vec<(String, Arg)>,
        folder: Option<Arg>,
        /// Whether it gets more arguments from its input.
        fed: Fed,
    },
    /// One program per file that the call finds; the call itself counts as well.
    Programs(Vec<Vec<Arg>>),
    /// `here`: in this same shell.
    Script {
        text: Arg,
        here: bool,
    },
    Hidden(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Fed {
    No,
    AtTheEnd,
    InPlaceOf(String),
}

struct Wrapper {
    name: &'static str,
    /// Letters of options with a value.
    letters: &'static str,
    /// Long options whose value is the next word.
    long: &'static str,
    /// Number of its own words before the program.
    operands: usize,
}

/// A row has the name, the number of operands, the letters (or `-`) and the long options.
const WRAPPERS: &str = include_str!("wrappers.txt");

fn wrapper(name: &str) -> Option<Wrapper> {
    let mut rows = WRAPPERS.lines().filter_map(|row| row.split_once(' '));
    let (name, row) = rows.find(|(known, _)| *known == name)?;
    let mut parts = row.splitn(3, ' ');
    let operands = parts.next()?.parse().ok()?;
    let letters = parts.next()?.trim_start_matches('-');
    Some(Wrapper { name, letters, long: parts.next().unwrap_or_default(), operands })
}

const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash"];

pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

pub fn inner(call: &Call) -> Inner {
    let name = call.name();
    let args = call.args();
    if is_shell(name) {
        return shell(call);
    }
    match name {
        "eval" => return Inner::Script { text: joined(args), here: true },
        "trap" => {
            let first = args.iter().find(|arg| arg.text != "--");
            let action = first.filter(|action| args.len() > 1 && !action.text.starts_with('-'));
            let script = |text: &Arg| Inner::Script { text: text.clone(), here: false };
            return action.map_or(Inner::Nothing, script);
        }
        "find" => return found(args),
        "fd" | "fdfind" => return fd(args),
        "parallel" | "entr" | "script" | "expect" => {
            return Inner::Hidden(format!("{name} runs whatever command it is given"));
        }
        _ => {}
    }
    wrapper(name).map_or(Inner::Nothing, |found| unwrapped(&found, args))
}

fn unwrapped(wrapper: &Wrapper, args: &[Arg]) -> Inner {
    let mut at = match program_at(args, wrapper) {
        Ok(Some(at)) => at,
        // `env -S` has its program in an option; `command` alone only prints, and `xargs` echoes.
        Ok(None) if wrapper.name == "env" => args.len(),
        Ok(None) => return Inner::Nothing,
        Err(why) => return Inner::Hidden(why),
    };
    let options = &args[..at];
    let has = |short: char, long: &str| {
        options.iter().any(|arg| {
            let text = arg.text.as_str();
            if text.starts_with("--") {
                // GNU programs accept abbreviated long options.
                let given = text.split('=').next().unwrap_or(text);
                !long.is_empty() && given.len() > 3 && long.starts_with(given)
            } else {
                text.starts_with('-') && text.contains(short)
            }
        })
    };
    let mut assignments = Vec::new();
    let mut folder = None;
    let mut fed = Fed::No;
    match wrapper.name {
        "watch" => return Inner::Script { text: joined(&args[at..]), here: false },
        "command" if has('v', "") || has('V', "") => return Inner::Nothing,
        "env" => {
            if has('S', "--split-string") {
                return Inner::Hidden("env -S builds a command from text".to_owned());
            }
            if has('C', "--chdir") {
                let value = options.iter().position(|arg| arg.text == "-C" || arg.text == "--chdir");
                folder = Some(
                    value.and_then(|at| options.get(at + 1)).cloned().unwrap_or_else(|| Arg::open("-C")),
                );
            }
            while let Some((name, value)) = args.get(at).and_then(assigned) {
                assignments.push((name, value));
                at += 1;
            }
            if at == args.len() {
                return Inner::Nothing;
            }
        }
        "flock"
            if has('c', "--command") || args[at..].first().is_some_and(|arg| arg.text.starts_with('-')) =>
        {
            return Inner::Hidden("flock -c runs whatever command it is given".to_owned());
        }
        "xargs" => {
            let replace = options.iter().enumerate().find_map(|(at, arg)| {
                let text = arg.text.as_str();
                match text {
                    "-I" | "--replace" => options.get(at + 1).map(|value| value.text.clone()),
                    _ if text.starts_with("-I") => Some(text[2..].to_owned()),
                    _ if text.starts_with("-i") => Some(match &text[2..] {
                        "" => "{}".to_owned(),
                        own => own.to_owned(),
                    }),
                    _ => text.strip_prefix("--replace=").map(str::to_owned),
                }
            });
            fed = replace.map_or(Fed::AtTheEnd, Fed::InPlaceOf);
        }
        _ => {}
    }
    Inner::Program { argv: args[at..].to_vec(), assignments, folder, fed }
}

pub fn assigned(arg: &Arg) -> Option<(String, Arg)> {
    let (name, value) = arg.text.split_once('=')?;
    let shift = name.len() + 1;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && arg.open_at.is_none_or(|at| at >= shift);
    is_name.then(|| {
        let value = Arg {
            text: value.to_owned(),
            open_at: arg.open_at.map(|at| at - shift),
            glob_at: arg.glob_at.and_then(|at| at.checked_sub(shift)),
        };
        (name.to_owned(), value)
    })
}

fn program_at(args: &[Arg], wrapper: &Wrapper) -> Result<Option<usize>, String> {
    let mut at = 0;
    let mut operands = wrapper.operands;
    let mut options = true;
    while let Some(arg) = args.get(at) {
        if arg.front_is_open() || arg.glob_at == Some(0) {
            return Err(format!("can't tell what {} runs", wrapper.name));
        }
        let text = arg.text.as_str();
        if options && text == "--" {
            options = false;
            at += 1;
        } else if options && text.starts_with("--") {
            at += 1 + usize::from(wrapper.long.split(' ').any(|long| long == text));
        } else if options && text.starts_with('-') && text.len() > 1 {
            let letters = &text[1..];
            let valued = letters.char_indices().find(|(_, c)| wrapper.letters.contains(*c));
            let value_follows = valued.is_some_and(|(at, c)| at + c.len_utf8() == letters.len());
            at += 1 + usize::from(value_follows);
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn shell(call: &Call) -> Inner {
    let args = call.args();
    let mut at = 0;
    let mut script_follows = false;
    let mut from_input = false;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        if arg.front_is_open() {
            return Inner::Hidden("can't tell what the shell runs".to_owned());
        }
        match text {
            "--" | "-" => {
                at += 1;
                break;
            }
            "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o" => at += 2,
            _ if text.starts_with("--") => at += 1,
            _ if text.starts_with(['-', '+']) => {
                script_follows |= text.contains('c');
                from_input |= text.contains('s');
                at += 1 + usize::from(text.contains('o') || text.contains('O'));
            }
            _ => break,
        }
    }
    if args.iter().any(|arg| arg.text == "--rcfile" || arg.text == "--init-file") {
        return Inner::Hidden("the shell reads a start file".to_owned());
    }
    match args.get(at) {
        Some(script) if script_follows => Inner::Script { text: script.clone(), here: false },
        // A script file, assessed like any program's.
        Some(_) if !from_input => Inner::Nothing,
        None if script_follows => Inner::Nothing,
        _ if args.iter().any(|arg| arg.text == "--version" || arg.text == "--help") => Inner::Nothing,
        _ if call.files.iter().any(|file| !file.writes) => Inner::Nothing,
        _ => match &call.input {
            CallInput::Text(text) => Inner::Script { text: text.clone(), here: false },
            CallInput::Pipe => Inner::Hidden(PIPED_SCRIPT.to_owned()),
            CallInput::Inherited => Inner::Nothing,
        },
    }
}

fn joined(args: &[Arg]) -> Arg {
    let mut all = Arg::default();
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            all.text.push(' ');
        }
        all.append(arg);
    }
    all
}

/// What `find` runs on each file; `{}` is below one of its roots.
fn found(args: &[Arg]) -> Inner {
    let found = finds(args);
    let mut programs = Vec::new();
    let mut at = 0;
    while at < args.len() {
        let text = args[at].text.as_str();
        if !matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            at += 1;
            continue;
        }
        let end = (at + 1..args.len())
            .find(|end| args[*end].text == ";" || (args[*end].text == "+" && args[*end - 1].text == "{}"));
        let Some(end) = end else { return Inner::Hidden("can't tell what find runs".to_owned()) };
        let command = &args[at + 1..end];
        for path in &found {
            programs.push(command.iter().map(|arg| replaced(arg, "{}", path)).collect());
        }
        at = end + 1;
    }
    if programs.is_empty() { Inner::Nothing } else { Inner::Programs(programs) }
}

fn fd(args: &[Arg]) -> Inner {
    let starts = |arg: &Arg| matches!(arg.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let glued = |arg: &Arg| {
        arg.text.starts_with("--exec")
            || (arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(['x', 'X']))
    };
    match args.iter().position(starts) {
        Some(at) => {
            let mut argv = args[at + 1..].to_vec();
            argv.pop_if(|arg| arg.text == ";");
            Inner::Programs(vec![argv.iter().map(|arg| replaced(arg, "{}", &Arg::known("./{}"))).collect()])
        }
        None if args.iter().any(glued) => Inner::Hidden("can't tell what fd runs".to_owned()),
        None => Inner::Nothing,
    }
}

/// Suffixes for any file below a folder, and for one that may be a link.
pub const BELOW: &str = "/{}";
pub const BELOW_OR_LINK: &str = "/{->}";

pub fn below(root: &Arg) -> Arg {
    with_end(root, BELOW)
}

fn with_end(root: &Arg, end: &str) -> Arg {
    let mut path = root.clone();
    path.text.truncate(path.text.trim_end_matches('/').len());
    path.text.push_str(end);
    path
}

/// What `find` names. Links count only if it follows them, looks for them, or names everything.
pub fn finds(args: &[Arg]) -> Vec<Arg> {
    const FILTERS: [&str; 8] =
        ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type"];
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(&arg.text.as_str()));
    let links = args.windows(2).any(|pair| pair[0].text.ends_with("type") && pair[1].text.contains('l'));
    let end = match has(&["-L", "-follow", "-lname", "-ilname"]) || links || !has(&FILTERS) {
        true => BELOW_OR_LINK,
        false => BELOW,
    };
    roots(args).iter().map(|root| with_end(root, end)).collect()
}

fn roots(args: &[Arg]) -> Vec<Arg> {
    let start =
        args.iter().position(|arg| !matches!(arg.text.as_str(), "-H" | "-L" | "-P")).unwrap_or(args.len());
    let given: Vec<Arg> = args[start..]
        .iter()
        .take_while(|arg| !arg.text.starts_with(['-', '(', ')', ',', '!']))
        .cloned()
        .collect();
    if given.is_empty() { vec![Arg::known(".")] } else { given }
}

/// The program's arguments, once for each possible input.
pub fn fed(argv: Vec<Arg>, fed: &Fed, feed: Option<&[Arg]>) -> Vec<Vec<Arg>> {
    let unknown = [Arg::open("…")];
    let arrives = feed.filter(|feed| !feed.is_empty()).unwrap_or(&unknown).iter();
    match fed {
        Fed::No => vec![argv],
        Fed::AtTheEnd => arrives.map(|one| argv.iter().chain([one]).cloned().collect()).collect(),
        Fed::InPlaceOf(mark) => {
            arrives.map(|one| argv.iter().map(|arg| replaced(arg, mark, one)).collect()).collect()
        }
    }
}

fn replaced(arg: &Arg, mark: &str, by: &Arg) -> Arg {
    match arg.certain() {
        Some(text) if text == mark => by.clone(),
        Some(text) if text.contains(mark) => {
            let mut made = Arg::known(text.replace(mark, &by.text));
            if by.certain().is_none() {
                made.open_at = Some(text.find(mark).unwrap_or(0));
            }
            made
        }
        _ => arg.clone(),
    }
}
