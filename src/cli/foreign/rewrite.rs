//! Rewrites another program's options into ours, by a table with one row per option.

use std::ffi::OsString;

use super::values;
use crate::cli::report::Failure;
use base::format::lists;
use base::text;

/// The explanation of options that mean nothing here.
pub const NOT_USED: &str = "not used";

/// Options of runs that continue a session, have several, or name it themselves.
const NAMED: [&str; 9] = [
    "--resume",
    "--continue",
    "--session-id",
    "--each",
    "--attempts",
    "-n",
    "--worktree",
    "--bg",
    "--background",
];

pub struct OptionRow {
    pub names: Vec<&'static str>,
    pub takes: Takes,
    pub here: &'static str,
    /// Its meaning here, for the help page and messages.
    pub is: &'static str,
}

/// How many arguments follow it, besides `--name=value`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    One,
    /// One, unless that is an option.
    Maybe,
    /// All that look like further values.
    Many,
}

pub fn table(name: &str) -> Vec<OptionRow> {
    lists::list(include_str!("options.txt"), name).filter_map(row).collect()
}

fn row(line: &'static str) -> Option<OptionRow> {
    let mut columns = line.splitn(4, '|').map(str::trim);
    let names = columns.next()?.split(", ").collect();
    let takes = match columns.next()? {
        "-" => Takes::Nothing,
        "1" => Takes::One,
        "?" => Takes::Maybe,
        _ => Takes::Many,
    };
    Some(OptionRow { names, takes, here: columns.next()?, is: columns.next()? })
}

#[derive(Default)]
pub struct Rewritten {
    pub options: Vec<OsString>,
    pub words: Vec<OsString>,
    pub notes: Vec<String>,
    /// First names of the rows that were used.
    pub used: Vec<&'static str>,
    /// An option follows the first word directly.
    pub option_after_word: bool,
}

/// The first matching row wins; unknown options pass. After a word that `ends` knows, all are words.
pub fn rewrite(
    table: &[OptionRow],
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
    ends: impl Fn(&[OsString]) -> bool,
) -> Result<Rewritten, Failure> {
    let mut done = Rewritten::default();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        if text == "--" || ends(&done.words) {
            done.words.extend((text != "--").then_some(arg));
            done.words.extend(args.by_ref());
            break;
        }
        if !is_option(&text) {
            done.words.push(arg);
            done.option_after_word |=
                done.words.len() == 1 && args.peek().and_then(|next| next.to_str()).is_some_and(is_option);
            continue;
        }
        let (name, inline) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text.as_str(), None),
        };
        let mut next = |wanted: fn(&str) -> bool| {
            args.next_if(|next| next.to_str().is_some_and(wanted)).and_then(|next| next.into_string().ok())
        };
        let Some(row) = table.iter().find(|row| row.names.contains(&name)) else {
            let value = (inline.is_none() && takes_value(name)).then(|| args.next()).flatten();
            done.options.push(arg);
            done.options.extend(value);
            continue;
        };
        let values: Vec<String> = match (row.takes, inline) {
            (Takes::Nothing, None) => Vec::new(),
            (_, Some(value)) => vec![value],
            (Takes::One, None) => vec![next(|_| true).ok_or_else(|| no_value(name, row))?],
            (Takes::Maybe, None) => next(|next| !is_option(next)).into_iter().collect(),
            (Takes::Many, None) => {
                let first = next(|_| true).ok_or_else(|| no_value(name, row))?;
                std::iter::once(first).chain(std::iter::from_fn(|| next(is_more))).collect()
            }
        };
        done.used.extend(row.names.first());
        done.apply(row, name, &values)?;
    }
    Ok(done)
}

impl Rewritten {
    pub fn add(&mut self, args: &[&str]) {
        self.options.extend(args.iter().map(OsString::from));
    }

    pub fn uses(&self, name: &str) -> bool {
        self.used.contains(&name)
    }

    pub fn apply(&mut self, row: &OptionRow, name: &str, values: &[String]) -> Result<(), Failure> {
        let none = [String::new()];
        let or_none = if values.is_empty() { &none[..] } else { values };
        match row.here.split_once(' ').unwrap_or((row.here, "")) {
            ("", _) => {}
            ("note", value) if !value.is_empty() && values.iter().all(|given| given != value) => {}
            ("note", _) => self.notes.push(format!("{name}: {}", row.is)),
            ("refused", _) => return Err(refused(name, row.is)),
            // With `=`, so that a value can't be taken for an option.
            (ours, "") if ours.starts_with('=') => {
                let args = values.iter().map(|value| OsString::from(format!("{}={value}", &ours[1..])));
                self.options.extend(args);
            }
            (first, rest) if first == "code" || rest.starts_with('→') => {
                for value in or_none {
                    let args = match first {
                        "code" => values::translated(rest, value),
                        _ => chosen(row.here, value),
                    };
                    let args = args.map_err(|why| refused(&format!("{name} {value}"), &why))?;
                    self.options.extend(args.into_iter().map(OsString::from));
                }
            }
            _ => self.options.extend(row.here.split(' ').map(OsString::from)),
        }
        Ok(())
    }

    /// Names the new session as the other programs name theirs: scripts look for a UUID.
    pub fn name_session(&mut self) -> Option<String> {
        let has_name = |option: &OsString| {
            let text = option.to_string_lossy();
            NAMED.contains(&text.split('=').next().unwrap_or_default())
        };
        let id = (!self.options.iter().any(has_name)).then(text::uuid)?;
        self.options.push(format!("--session-id={id}").into());
        Some(id)
    }

    pub fn take(&mut self, ours: &str) -> Vec<String> {
        let mut values = Vec::new();
        let mut kept = Vec::new();
        let mut options = std::mem::take(&mut self.options).into_iter();
        while let Some(option) = options.next() {
            let text = option.to_string_lossy();
            match text.strip_prefix(ours) {
                Some("") => values.extend(options.next().map(|value| value.to_string_lossy().into_owned())),
                Some(rest) if rest.starts_with('=') => values.push(rest[1..].to_owned()),
                _ => kept.push(option),
            }
        }
        self.options = kept;
        values
    }
}

fn chosen(choices: &str, value: &str) -> Result<Vec<String>, String> {
    let choices = choices.split(" ; ").filter_map(|choice| choice.split_once('→'));
    let choices: Vec<(&str, &str)> = choices.map(|(known, ours)| (known.trim(), ours.trim())).collect();
    match choices.iter().find(|(known, _)| [value, "*"].contains(known)) {
        Some((_, "")) => Ok(Vec::new()),
        Some((_, ours)) => match ours.strip_prefix('!') {
            Some(why) => Err(why.to_owned()),
            None => Ok(vec![ours.replace("{}", value)]),
        },
        None => {
            let known: Vec<&str> = choices.into_iter().map(|(known, _)| known).collect();
            Err(format!("use {}", text::and_list(&known).replace(" and ", " or ")))
        }
    }
}

fn is_option(text: &str) -> bool {
    text.starts_with('-') && text != "-"
}

/// A tool, path or JSON is a further value; a task isn't.
fn is_more(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase() || "/.~{".contains(c)) && !text.trim().contains(' ')
        || text.starts_with("mcp__")
        || text.starts_with(|c: char| c.is_ascii_uppercase()) && text.contains('(') && text.ends_with(')')
}

fn no_value(name: &str, row: &OptionRow) -> Failure {
    refused(name, &format!("it needs a value: {}", row.is))
}

pub fn refused(what: &str, why: &str) -> Failure {
    let hint = "`mycode help scripts` lists the options of Claude Code and Codex, and what they are here";
    Failure::usage(format!("{}: {why}", what.trim_end()), hint)
}
