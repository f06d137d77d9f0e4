//! One program that a script runs, with everything that decides what it does.

use std::path::PathBuf;

/// The call starts itself through a pipe, such as `:(){ :|:& };:`.
pub const BOMB: &str = "it is a fork bomb: it keeps starting itself";

pub const PIPED_SCRIPT: &str = "the shell runs whatever is piped into it";

/// A word after expansion, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arg {
    /// Without quotes; unknown parts are as written, such as `$(date)`.
    pub text: String,
    /// Where the first unknown part of `text` starts.
    pub open_at: Option<usize>,
    /// Where the first pattern starts that bash would replace with file names.
    pub glob_at: Option<usize>,
}

impl Arg {
    pub fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), open_at: None, glob_at: None }
    }

    pub fn open(text: impl Into<String>) -> Self {
        Self { text: text.into(), open_at: Some(0), glob_at: None }
    }

    pub fn certain(&self) -> Option<&str> {
        (self.open_at.is_none() && self.glob_at.is_none()).then_some(self.text.as_str())
    }

    /// If the start is unknown, the word may become an option.
    pub fn front_is_open(&self) -> bool {
        self.open_at == Some(0)
    }

    /// A bracket that never closes isn't a pattern.
    pub fn settle(&mut self) {
        if let Some(at) = self.glob_at
            && !self.text[at..].contains(['*', '?', ']'])
        {
            self.glob_at = None;
        }
    }

    pub fn append(&mut self, other: &Self) {
        let at = self.text.len();
        self.open_at = self.open_at.or(other.open_at.map(|open| open + at));
        self.glob_at = self.glob_at.or(other.glob_at.map(|glob| glob + at));
        self.text.push_str(&other.text);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub writes: bool,
    pub target: Arg,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallInput {
    #[default]
    Inherited,
    Pipe,
    Text(Arg),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    pub assignments: Vec<(String, Arg)>,
    /// The program comes first; empty for assignments and redirections alone.
    pub argv: Vec<Arg>,
    pub files: Vec<File>,
    pub input: CallInput,
    /// Where it may run; empty if unknown.
    pub folders: Vec<PathBuf>,
    pub source: String,
    /// Why its effect is unknown, such as `eval` of something unknown.
    pub hidden: Option<String>,
    /// Inside a shell's script, `env`, `xargs` and the like.
    pub wrapped: bool,
    /// A function of the script, whose commands are separate calls.
    pub is_function: bool,
}

impl Call {
    /// The program's name without its folder; empty if missing or uncertain.
    pub fn name(&self) -> &str {
        let text = self.argv.first().and_then(Arg::certain).unwrap_or_default();
        text.rsplit('/').next().unwrap_or(text)
    }

    pub fn args(&self) -> &[Arg] {
        self.argv.get(1..).unwrap_or_default()
    }
}
