//! How text-showing programs select and number lines. Options that change lines otherwise aren't supported.

use guard::shell::interpret::call::{Arg, Call};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub file: usize,
    /// Line number in the file, 1-based.
    pub number: usize,
    /// Including its line end.
    pub text: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineFilter {
    All,
    First(usize),
    AllButLast(usize),
    Last(usize),
    From(usize),
    /// Inclusive, 1-based.
    Ranges(Vec<(usize, usize)>),
    /// Blank lines are numbered only with `blank`.
    Numbered {
        blank: bool,
    },
}

impl LineFilter {
    /// Whether it is applied to each file separately.
    pub(super) fn is_for_each_file(&self) -> bool {
        matches!(self, Self::First(_) | Self::AllButLast(_) | Self::Last(_) | Self::From(_))
    }

    pub(super) fn apply(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let count = rows.len();
        match self {
            Self::All => {}
            Self::First(most) => rows.truncate(*most),
            Self::AllButLast(most) => rows.truncate(count.saturating_sub(*most)),
            Self::Last(most) => drop(rows.drain(..count.saturating_sub(*most))),
            Self::From(first) => drop(rows.drain(..first.saturating_sub(1).min(count))),
            Self::Ranges(ranges) => {
                let mut at = 0;
                rows.retain(|_| {
                    at += 1;
                    ranges.iter().any(|(from, to)| (*from..=*to).contains(&at))
                });
            }
            Self::Numbered { blank } => {
                let mut number = 0;
                for row in &mut rows {
                    let mut text = if *blank || row.text != b"\n" {
                        number += 1;
                        format!("{number:6}\t").into_bytes()
                    } else {
                        b"       ".to_vec()
                    };
                    text.append(&mut row.text);
                    row.text = text;
                }
            }
        }
        rows
    }
}

/// The files a program reads (none: its input) and its filter; `None` if it does more than show text.
pub(super) fn filter_of(call: &Call) -> Option<(Vec<&str>, LineFilter)> {
    let args = call.args().iter().map(Arg::certain).collect::<Option<Vec<&str>>>()?;
    match call.name() {
        "cat" | "less" | "more" | "bat" | "batcat" => cat(&args),
        "nl" => nl(&args),
        "head" => ends(&args, |count| match count.strip_prefix('-') {
            Some(count) => Some(LineFilter::AllButLast(count.parse().ok()?)),
            None => Some(LineFilter::First(count.parse().ok()?)),
        }),
        "tail" => ends(&args, |count| match count.strip_prefix('+') {
            Some(first) => Some(LineFilter::From(first.parse().ok()?)),
            None => Some(LineFilter::Last(count.strip_prefix('-').unwrap_or(count).parse().ok()?)),
        }),
        "sed" => sed(&args),
        "awk" | "gawk" | "mawk" => match args.as_slice() {
            [program, names @ ..] => Some((names.to_vec(), awk(program)?)),
            [] => None,
        },
        _ => None,
    }
}

fn is_option(arg: &str) -> bool {
    arg.starts_with('-') && arg != "-"
}

/// Splits options from operands; `-` or no operand means the input.
fn parted<'a>(args: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let end = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
    let (options, mut names): (Vec<_>, Vec<_>) = args[..end].iter().copied().partition(|arg| is_option(arg));
    names.extend(args.iter().skip(end + 1));
    names.retain(|name| *name != "-");
    (options, names)
}

fn cat<'a>(args: &[&'a str]) -> Option<(Vec<&'a str>, LineFilter)> {
    let (options, names) = parted(args);
    let filter = match options.as_slice() {
        [] | ["-u"] => LineFilter::All,
        ["-n" | "--number"] => LineFilter::Numbered { blank: true },
        ["-b" | "--number-nonblank"] => LineFilter::Numbered { blank: false },
        // A pager's screen options don't matter here.
        _ if options
            .iter()
            .all(|option| matches!(*option, "-p" | "-pp" | "--plain" | "-R" | "-F" | "-X")) =>
        {
            LineFilter::All
        }
        _ => return None,
    };
    Some((names, filter))
}

fn nl<'a>(args: &[&'a str]) -> Option<(Vec<&'a str>, LineFilter)> {
    let (blank, rest) = match args {
        ["-b", "a", rest @ ..] | ["-ba" | "--body-numbering=a", rest @ ..] => (true, rest),
        ["-b", "t", rest @ ..] | ["-bt", rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (options, names) = parted(rest);
    options.is_empty().then_some((names, LineFilter::Numbered { blank }))
}

/// `head` and `tail`: parses a count in its many forms.
fn ends<'a>(
    args: &[&'a str],
    of_count: impl Fn(&str) -> Option<LineFilter>,
) -> Option<(Vec<&'a str>, LineFilter)> {
    let (count, names) = match args {
        ["-n" | "--lines", count, names @ ..] => (*count, names),
        [option, names @ ..] if is_option(option) && *option != "--" => {
            let count = option.strip_prefix("--lines=").or_else(|| option.strip_prefix("-n"));
            (count.or_else(|| option.strip_prefix('-'))?, names)
        }
        ["-", ..] | [] => ("10", args),
        [first, names @ ..] if first.starts_with('+') => (*first, names),
        names => ("10", names),
    };
    let (options, names) = parted(names);
    options.is_empty().then_some(())?;
    Some((names, of_count(count)?))
}

fn sed<'a>(args: &[&'a str]) -> Option<(Vec<&'a str>, LineFilter)> {
    let mut quiet = false;
    let mut scripts = Vec::new();
    let mut rest = args;
    while let [option, after @ ..] = rest
        && is_option(option)
    {
        rest = after;
        match *option {
            "-n" | "--quiet" | "--silent" => quiet = true,
            "-E" | "-r" => {}
            "-e" | "-ne" | "-nE" => {
                quiet |= option.contains('n');
                let [script, after @ ..] = rest else { return None };
                scripts.push(*script);
                rest = after;
            }
            "--" => break,
            _ => return None,
        }
    }
    if scripts.is_empty() {
        let [script, after @ ..] = rest else { return None };
        scripts.push(*script);
        rest = after;
    }
    let mut ranges = Vec::new();
    let mut last = usize::MAX;
    for command in scripts.iter().flat_map(|script| script.split([';', '\n'])) {
        let command: String = command.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(range) = command.strip_suffix('p').or_else(|| command.strip_suffix("{p}")) {
            ranges.push(line_range(range).filter(|_| quiet)?);
        } else if let Some(range) = command.strip_suffix("!d") {
            ranges.push(line_range(range).filter(|_| !quiet)?);
        } else if let Some(line) = command.strip_suffix('q') {
            last = line.parse().ok()?;
        } else if !command.is_empty() {
            return None;
        }
    }
    if ranges.is_empty() && !quiet {
        ranges.push((1, usize::MAX));
    }
    for range in &mut ranges {
        range.1 = range.1.min(last);
    }
    let (options, names) = parted(rest);
    (options.is_empty() && !ranges.is_empty()).then_some((names, LineFilter::Ranges(ranges)))
}

/// `3`, `3,9`, `3,$` and `3,+6`.
fn line_range(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once(',').unwrap_or((text, text));
    let from: usize = from.parse().ok()?;
    let to = match (to, to.strip_prefix('+')) {
        ("$", _) => usize::MAX,
        (_, Some(more)) => from.checked_add(more.parse().ok()?)?,
        (to, None) => to.parse().ok()?,
    };
    // `9,3p` prints line 9.
    Some((from, to.max(from)))
}

/// `NR>=3 && NR<=9` and the like, with or without `{print}`.
fn awk(program: &str) -> Option<LineFilter> {
    let program: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    let condition =
        program.strip_suffix("{print}").or_else(|| program.strip_suffix("{print$0}")).unwrap_or(&program);
    let (mut from, mut to) = (1, usize::MAX);
    for part in condition.split("&&") {
        let part = part.strip_prefix("NR")?;
        if let Some(line) = part.strip_prefix("==") {
            (from, to) = (line.parse().ok()?, line.parse().ok()?);
        } else if let Some(line) = part.strip_prefix(">=") {
            from = line.parse().ok()?;
        } else if let Some(line) = part.strip_prefix("<=") {
            to = line.parse().ok()?;
        } else if let Some(line) = part.strip_prefix('>') {
            from = line.parse::<usize>().ok()?.checked_add(1)?;
        } else {
            to = part.strip_prefix('<')?.parse::<usize>().ok()?.checked_sub(1)?;
        }
    }
    Some(LineFilter::Ranges(vec![(from, to)]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use guard::shell::interpret::interpreter;

    #[test]
    fn filters() {
        let of = |command: &str| {
            let calls = interpreter::calls(command, std::path::Path::new("/w"), None).unwrap();
            filter_of(&calls[0]).map(|(names, filter)| format!("{} {filter:?}", names.join(" ")))
        };
        for (command, want) in [
            ("cat src/a.rs", "src/a.rs All"),
            ("cat -- 'my file' b", "my file b All"),
            ("cat -n a", "a Numbered { blank: true }"),
            ("nl -ba a", "a Numbered { blank: true }"),
            ("head a", "a First(10)"),
            ("head -n 20 a", "a First(20)"),
            ("head -n20 a", "a First(20)"),
            ("head -20 a b", "a b First(20)"),
            ("head --lines=20 a", "a First(20)"),
            ("head -n -5 a", "a AllButLast(5)"),
            ("tail -5 a", "a Last(5)"),
            ("tail -n +3 a", "a From(3)"),
            ("sed -n '3,9p' a", "a Ranges([(3, 9)])"),
            ("sed -n -e '3,+2p' -e 9p a", "a Ranges([(3, 5), (9, 9)])"),
            ("sed -n '1,5p; 9,10p' a", "a Ranges([(1, 5), (9, 10)])"),
            ("sed -n '3,9p;9q' a", "a Ranges([(3, 9)])"),
            ("sed 20q a", "a Ranges([(1, 20)])"),
            ("sed '3,9!d' a", "a Ranges([(3, 9)])"),
            ("awk 'NR>=3 && NR<=9' a", "a Ranges([(3, 9)])"),
            ("awk 'NR>2&&NR<5 {print}' a", "a Ranges([(3, 4)])"),
        ] {
            assert_eq!(of(command).as_deref(), Some(want), "{command}");
        }
        for other in [
            "cat -A a",
            "sed -i s/a/b/ a",
            "sed -n /x/p a",
            "sed 3,9p a",
            "head -c 9 a",
            "cat $A",
            "cat *.rs",
            "awk '{print $1}' a",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
