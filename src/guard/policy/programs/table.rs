//! The table of programs (`programs.txt`): what a row says, how it is read, and which row a call belongs to.
//!
//! A row is `PROGRAMS [SUB-COMMANDS …] : CLASS [CLAUSE …]`; names are joined by commas, a line that begins with blanks
//! continues the row before, and `@NAME : CLAUSE …` names clauses that rows share. `*` as a sub-command is any other
//! word, `-` is no word. A row with sub-commands also has the clauses of its program's own row. Clauses are:
//! - `ROLE,ROLE…`: what the words are to the program, in order; the last goes on. `ROLE*` stands for all but the last word.
//! - `-o,--output=ACTION`: what an option does; `a/b` takes two values, `a+b` does both, `^` gives what is otherwise the
//!   first word. `name==ACTION` is the same for `name=value`, `+=ACTION` for `+word`, `*=ACTION` for any other option.
//! - `~text=CLASS`: a word that holds the text. `max=N/CLASS`: more words. `only=…`: other words are not known.
//! - `bare=CLASS`: no word at all. Flags: see [`Row`].

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::value::StrDeserializer;

/// What a row says of a whole call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It only reads.
    Look,
    /// It only reads, and runs the project's own code to do so.
    Inspect,
    /// It changes the files that it names.
    Change,
    /// It builds, tests or checks the project.
    Build,
    /// It works on the local git history.
    History,
    /// It runs code; how risky that is depends on which.
    Interpret,
    /// It runs a module of Python: the project's own, or unknown.
    Module,
    #[default]
    Unsure,
    Network,
    /// It installs for every project of the machine.
    Global,
    /// It uses accounts of the user.
    Account,
    System,
    /// It changes what git runs.
    Settings,
    /// It changes where git fetches from and sends work to.
    Remotes,
    Guarded,
    /// It leaves something running, or handles secrets.
    Lasting,
    Destroy,
}

/// What a word or an option's value is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing that is looked at.
    Skip,
    /// Printed at most: only patterns become names of files.
    Text,
    /// A file of which no contents are shown.
    Name,
    /// Anything; it must not name a secret.
    Arg,
    /// The same, with everything below it.
    DeepArg,
    Read,
    /// Read with everything below it.
    Tree,
    Write,
    /// A file that is written, or a folder into which others are put.
    Into,
    /// Both read with everything below and written.
    Pack,
    /// What a link is made to.
    Link,
    /// A place of output, anywhere in the workspace or among temporary files.
    Out,
    /// It must not name a place outside.
    Inside,
    /// A file of code that is run.
    Script,
    /// The same, or the name of a class.
    #[serde(rename = "class")]
    JavaClass,
    /// Code itself.
    Code,
    Sed,
    Awk,
    /// What is searched for.
    Pattern,
    /// The name of a variable, which the shell evaluates.
    Subscript,
    /// File permissions.
    Mode,
    /// An address.
    Host,
    /// A repository's address or path.
    Repository,
    /// A tool that `npx` runs.
    Tool,
    /// A process to which a signal is sent.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramAction {
    Ok,
    Raise(Class),
    /// The call only looks.
    Look,
    /// The same, and runs the project's own code to do so.
    Inspect,
    /// Any number of words is fine.
    Many,
    /// It takes only what is on this machine.
    Offline,
    /// What is written is destroyed with everything below it.
    Deep,
    /// What is read is read with everything below it.
    Tree,
    /// It goes where links lead.
    Links,
    /// Without words it works on the folder where it starts.
    Here,
    /// All words have this role.
    All(Role),
    Value(Role),
    /// It is a part of the sub-command.
    Sub,
}

/// What some options do.
#[derive(Debug)]
pub struct OptionRule {
    pub names: Vec<&'static str>,
    pub actions: Vec<ProgramAction>,
    /// It gives what is otherwise the first word.
    pub is_first_word: bool,
}

/// What is known of a program or a sub-command.
#[derive(Debug, Default)]
pub struct Row {
    subs: Vec<Vec<&'static str>>,
    pub class: Class,
    pub roles: Vec<Role>,
    /// The first role is that of all words but the last.
    pub but_last: bool,
    pub options: Vec<OptionRule>,
    pub contains: Vec<(&'static str, Class)>,
    pub max: Option<(usize, Class)>,
    pub bare: Option<Class>,
    pub only: Vec<&'static str>,
    flags: Vec<&'static str>,
}

const FLAGS: &[&str] = &[
    // Options are whole words, never letters in a bundle: so it is with builders and package managers.
    "exact",    // For those, options may be letters in a bundle, and long ones shortened.
    "gnu",      // Options end at the first word.
    "first",    // Options are taken behind `--` too.
    "nodashes", // The first word is a bundle of letters.
    "letters",  // Words that may turn into options are not known.
    "certain",  // It always goes through the folder where it starts.
    "here",     // What is written is destroyed with everything below it.
    "deep",     // Every word is a sub-command.
    "each",     // Called by a path it works for one project only.
    "by-path",  // An always-allow rule takes the sub-command too.
    "sub",      // No always-allow rule is offered.
    "once",     // `-v` is not the question for the version.
    "verbose",
];

impl Row {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether options are whole words.
    pub fn is_exact(&self) -> bool {
        let modern = matches!(self.class, Class::Build | Class::Inspect | Class::Unsure | Class::Network);
        self.has("exact") || modern && !self.has("gnu")
    }

    /// How many of the call's words name the sub-command.
    pub fn sub_words(&self) -> usize {
        self.subs.iter().filter(|level| !level.contains(&"-")).count()
    }

    /// How well the sub-command fits; `None` when it is another one.
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

static TABLE: LazyLock<HashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Row>> = HashMap::new();
    for (program, row) in read(include_str!("programs.txt")).0 {
        table.entry(program).or_default().push(row);
    }
    table
});

/// The program's rows: by its name, or for `gcc-13` and `python3.12` by the name without a version.
fn rows(name: &str) -> &'static [Row] {
    if let Some(rows) = TABLE.get(name) {
        return rows;
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let versioned = TABLE.get(plain).filter(|rows| {
        rows.iter().any(|row| row.subs.is_empty() && matches!(row.class, Class::Build | Class::Interpret))
    });
    versioned.map_or(&[], Vec::as_slice)
}

/// The program's own row.
pub fn program_row(name: &str) -> Option<&'static Row> {
    rows(name).iter().find(|row| row.subs.is_empty())
}

/// Whether the program's sub-commands are told apart.
pub fn has_sub_commands(name: &str) -> bool {
    rows(name).len() > 1
}

/// The row that fits best; `words` are those of the call that are no options.
pub fn sub_command(name: &str, words: &[&str]) -> Option<&'static Row> {
    rows(name)
        .iter()
        .filter_map(|row| Some((row.fit(words)?, row)))
        .max_by_key(|(fit, _)| *fit)
        .map(|(_, row)| row)
}

/// All rows, one for each program that a line names, and what could not be read.
fn read(text: &'static str) -> (Vec<(&'static str, Row)>, Vec<String>) {
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
        let clauses: Vec<&'static str> = clauses
            .iter()
            .flat_map(|clause| shared.get(clause).cloned().unwrap_or_else(|| vec![*clause]))
            .collect();
        for program in front[0].split(',') {
            match row(front, &clauses) {
                Some(row) => rows.push((program, row)),
                None => wrong.push(line.join(" ")),
            }
        }
    }
    (rows, wrong)
}

fn row(front: &[&'static str], clauses: &[&'static str]) -> Option<Row> {
    let list = |text: &'static str| text.split(',').collect::<Vec<_>>();
    let (class, clauses) = clauses.split_first()?;
    let mut row = Row {
        subs: front[1..].iter().map(|level| list(level)).collect(),
        class: class_of(class)?,
        ..Row::default()
    };
    for clause in clauses {
        if FLAGS.contains(clause) {
            row.flags.push(clause);
        } else if let Some(only) = clause.strip_prefix("only=") {
            row.only = list(only);
        } else if let Some(max) = clause.strip_prefix("max=") {
            let (count, class) = max.split_once('/')?;
            row.max = Some((count.parse().ok()?, class_of(class)?));
        } else if let Some(class) = clause.strip_prefix("bare=") {
            row.bare = Some(class_of(class)?);
        } else if let Some(text) = clause.strip_prefix('~') {
            let (text, class) = text.rsplit_once('=')?;
            row.contains.push((text, class_of(class)?));
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

fn class_of(name: &str) -> Option<Class> {
    named(name)
}

fn action_of(name: &str) -> Option<ProgramAction> {
    match name.strip_prefix("all-") {
        Some(role) => Some(ProgramAction::All(named(role)?)),
        None => named(name)
            .or_else(|| named(name).map(ProgramAction::Raise))
            .or_else(|| named(name).map(ProgramAction::Value)),
    }
}

/// The variant of that name.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        let (rows, wrong) = read(include_str!("programs.txt"));
        assert_eq!(wrong, Vec::<String>::new());
        assert!(rows.len() > 800, "{}", rows.len());
    }

    #[test]
    fn a_program_has_a_row_of_its_own_and_each_sub_command_one() {
        let mut seen = std::collections::HashSet::new();
        for (program, row) in read(include_str!("programs.txt")).0 {
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
