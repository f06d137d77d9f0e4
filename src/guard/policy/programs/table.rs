//! The table of programs (`programs.txt`, which explains its format): how rows are parsed, and which row fits a call.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde::de::value::StrDeserializer;

use base::search::words::listed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Look,
    /// Only reads, but runs the project's code to do so.
    Inspect,
    Change,
    Build,
    History,
    Interpret,
    /// A Python module: the project's own, or unknown.
    Module,
    #[default]
    Unsure,
    Network,
    Global,
    Account,
    System,
    Settings,
    Remotes,
    Guarded,
    /// Leaves something running, or handles secrets.
    Lasting,
    Destroy,
}

/// What a word or an option's value means to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArgRole {
    Skip,
    /// At most printed, unless a pattern expands to file names.
    Text,
    /// A file whose contents aren't shown.
    Name,
    /// Anything, as long as it doesn't name a secret.
    Arg,
    /// Like `Arg`, including everything below it.
    DeepArg,
    Read,
    /// Read, including everything below it.
    Tree,
    Write,
    /// A file that is written, or a folder to put files in.
    Into,
    /// Read, including everything below it, and written.
    Pack,
    Link,
    /// Output anywhere in the workspace or a temporary folder.
    Out,
    /// Like `Out`, unless a preceding `DESTDIR` redirects the output.
    Prefix,
    Inside,
    Script,
    /// A script, or the name of a class.
    #[serde(rename = "class")]
    JavaClass,
    Code,
    Sed,
    Awk,
    Pattern,
    /// The name of a variable, which the shell evaluates.
    Subscript,
    Mode,
    Host,
    Repository,
    Tool,
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramAction {
    Ok,
    Raise(Class),
    Look,
    Inspect,
    Many,
    /// Uses only what is installed.
    Offline,
    /// Destroys the target with everything below it.
    Deep,
    /// Also reads everything below the paths that it reads.
    Tree,
    Links,
    /// Without words, it works on its working folder.
    Here,
    All(ArgRole),
    Value(ArgRole),
    Sub,
}

#[derive(Debug)]
pub struct OptionRule {
    pub names: Vec<&'static str>,
    pub actions: Vec<ProgramAction>,
    /// The option replaces what is otherwise the first word.
    pub is_first_word: bool,
}

#[derive(Debug, Default)]
pub struct Row {
    subs: Vec<Vec<&'static str>>,
    pub class: Class,
    pub roles: Vec<ArgRole>,
    /// The first role applies to all words but the last.
    pub but_last: bool,
    pub options: Vec<OptionRule>,
    pub contains: Vec<(&'static str, Class)>,
    pub max: Option<(usize, Class)>,
    pub bare: Option<Class>,
    pub only: Vec<&'static str>,
    flags: Vec<&'static str>,
}

/// Explained in `programs.txt`.
const FLAGS: &str =
    "exact gnu first own-options nodashes letters certain here deep each by-path sub once verbose";

impl Row {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    pub fn is_exact(&self) -> bool {
        let modern = matches!(self.class, Class::Build | Class::Inspect | Class::Unsure | Class::Network);
        self.has("exact") || modern && !self.has("gnu")
    }

    pub fn sub_words(&self) -> usize {
        self.subs.iter().filter(|level| !level.contains(&"-")).count()
    }

    fn fit(&self, words: &[&str]) -> Option<usize> {
        let mut fit = 0;
        for (at, level) in self.subs.iter().enumerate() {
            fit += match words.get(at) {
                Some(word) if level.contains(word) => 3,
                Some(_) if level.contains(&"*") => 1,
                None if level.contains(&"-") => 3,
                _ => return None,
            };
        }
        Some(fit)
    }
}

struct Line {
    front: Vec<&'static str>,
    clauses: Vec<&'static str>,
}

/// Parsed on first use, because a process meets only few programs.
#[derive(Default)]
struct ProgramRows {
    lines: Vec<&'static Line>,
    parsed: OnceLock<Vec<Row>>,
}

impl ProgramRows {
    fn rows(&self) -> &[Row] {
        self.parsed.get_or_init(|| self.lines.iter().filter_map(|line| row(line)).collect())
    }
}

static LINES: LazyLock<(Vec<Line>, Vec<String>)> = LazyLock::new(|| read(include_str!("programs.txt")));

static TABLE: LazyLock<HashMap<&'static str, ProgramRows>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, ProgramRows> = HashMap::new();
    for line in &LINES.0 {
        for program in line.front[0].split(',') {
            table.entry(program).or_default().lines.push(line);
        }
    }
    table
});

/// For `gcc-13` and `python3.12`, falls back to the name without a version.
fn rows(name: &str) -> &'static [Row] {
    let name = if name.starts_with("mkfs.") { "mkfs" } else { name };
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_versioned = |rows: &&[Row]| {
        rows.iter().any(|row| row.subs.is_empty() && matches!(row.class, Class::Build | Class::Interpret))
    };
    let known = |name| TABLE.get(name).map(ProgramRows::rows);
    known(name).or_else(|| known(plain).filter(is_versioned)).unwrap_or_default()
}

pub fn program_row(name: &str) -> Option<&'static Row> {
    rows(name).iter().find(|row| row.subs.is_empty())
}

pub fn has_sub_commands(name: &str) -> bool {
    rows(name).len() > 1
}

/// The row that fits best; `words` are the call's words without options.
pub fn sub_command(name: &str, words: &[&str]) -> Option<&'static Row> {
    rows(name)
        .iter()
        .filter_map(|row| Some((row.fit(words)?, row)))
        .max_by_key(|(fit, _)| *fit)
        .map(|(_, row)| row)
}

fn read(text: &'static str) -> (Vec<Line>, Vec<String>) {
    let mut lines: Vec<Vec<&'static str>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.extend(line.split_whitespace()),
            _ => lines.push(line.split_whitespace().collect()),
        }
    }
    let mut shared: HashMap<&str, Vec<&'static str>> = HashMap::new();
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for line in lines {
        let Some(colon) = line.iter().position(|word| *word == ":").filter(|at| *at > 0) else {
            wrong.push(line.join(" "));
            continue;
        };
        let (front, clauses) = (&line[..colon], &line[colon + 1..]);
        if front[0].starts_with('@') {
            shared.insert(front[0], clauses.to_vec());
            continue;
        }
        let clauses =
            clauses.iter().flat_map(|clause| shared.get(clause).cloned().unwrap_or_else(|| vec![*clause]));
        rows.push(Line { front: front.to_vec(), clauses: clauses.collect() });
    }
    (rows, wrong)
}

fn row(line: &Line) -> Option<Row> {
    let list = |text: &'static str| text.split(',').collect::<Vec<_>>();
    let (class, clauses) = line.clauses.split_first()?;
    let mut row = Row {
        subs: line.front[1..].iter().map(|level| list(level)).collect(),
        class: named(class)?,
        ..Row::default()
    };
    for clause in clauses {
        if listed(FLAGS, clause) {
            row.flags.push(clause);
        } else if let Some(only) = clause.strip_prefix("only=") {
            row.only = list(only);
        } else if let Some(max) = clause.strip_prefix("max=") {
            let (count, class) = max.split_once('/')?;
            row.max = Some((count.parse().ok()?, named(class)?));
        } else if let Some(class) = clause.strip_prefix("bare=") {
            row.bare = Some(named(class)?);
        } else if let Some(text) = clause.strip_prefix('~') {
            let (text, class) = text.rsplit_once('=')?;
            row.contains.push((text, named(class)?));
        } else if let Some((names, action)) = clause.rsplit_once('=') {
            let plain = action.trim_end_matches('^');
            let actions = plain.split(['+', '/']).map(action_of).collect::<Option<Vec<_>>>()?;
            row.options.push(OptionRule { names: list(names), actions, is_first_word: plain != action });
        } else {
            row.but_last = clause.contains('*');
            row.roles =
                clause.split(',').map(|role| named(role.trim_end_matches('*'))).collect::<Option<_>>()?;
        }
    }
    Some(row)
}

fn action_of(name: &str) -> Option<ProgramAction> {
    match name.strip_prefix("all-") {
        Some(role) => Some(ProgramAction::All(named(role)?)),
        None => named(name)
            .or_else(|| named(name).map(ProgramAction::Raise))
            .or_else(|| named(name).map(ProgramAction::Value)),
    }
}

fn named<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        assert_eq!(LINES.1, Vec::<String>::new());
        let unread = LINES.0.iter().find(|line| row(line).is_none());
        assert_eq!(unread.map(|line| line.front.join(" ")), None);
        let rows: usize = TABLE.values().map(|known| known.rows().len()).sum();
        assert!(rows > 800, "{rows}");
    }

    #[test]
    fn a_program_has_a_row_of_its_own_and_each_sub_command_one() {
        let mut seen = std::collections::HashSet::new();
        for (program, row) in
            TABLE.iter().flat_map(|(name, known)| known.rows().iter().map(move |row| (name, row)))
        {
            assert!(program_row(program).is_some(), "{program} has rows for sub-commands only");
            let mut paths = vec![String::new()];
            for level in &row.subs {
                paths = level
                    .iter()
                    .flat_map(|sub| paths.iter().map(move |path| format!("{path} {sub}")))
                    .collect();
            }
            for path in paths {
                assert!(seen.insert(format!("{program}{path}")), "two rows for `{program}{path}`");
            }
        }
    }
}
