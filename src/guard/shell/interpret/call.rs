//! One program that a script runs, with everything that decides what it does. Plain data.

use std::path::PathBuf;

/// Why a call is hidden when a function starts itself through a pipe, such as `:(){ :|:& };:`.
pub const BOMB: &str = "it is a fork bomb: it starts itself again and again";

/// Why a shell that reads its script from a pipe is hidden.
pub const PIPED_SCRIPT: &str = "the shell runs whatever is piped into it";

/// A word after expansion, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arg {
    /// Without quotes; a part that is not known stands as it was written, such as `$(date)`.
    pub text: String,
    /// Where in `text` a part begins that may be anything.
    pub open_at: Option<usize>,
    /// Where the first pattern stands that bash replaces by names of files.
    pub glob_at: Option<usize>,
}

impl Arg {
    pub fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), open_at: None, glob_at: None }
    }

    /// A word of which nothing is known.
    pub fn open(text: impl Into<String>) -> Self {
        Self { text: text.into(), open_at: Some(0), glob_at: None }
    }

    /// The text, when all of it is certain.
    pub fn certain(&self) -> Option<&str> {
        (self.open_at.is_none() && self.glob_at.is_none()).then_some(self.text.as_str())
    }

    /// Whether the word may turn into an option: its front is not known.
    pub fn front_is_open(&self) -> bool {
        self.open_at == Some(0)
    }

    /// A bracket that never closes is no pattern.
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

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub writes: bool,
    pub target: Arg,
}

/// What a program finds on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    #[default]
    Inherited,
    /// What the program before prints.
    Pipe,
    /// A here-document or here-string.
    Text(Arg),
}

/// One program that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    pub assignments: Vec<(String, Arg)>,
    /// The program first; empty for assignments and redirections alone.
    pub argv: Vec<Arg>,
    pub files: Vec<File>,
    pub input: Input,
    /// The folders in which it may run; empty when that is not known.
    pub folders: Vec<PathBuf>,
    /// As it was written.
    pub source: String,
    /// Why nobody can say what it does, such as `eval` of something unknown.
    pub hidden: Option<String>,
    /// It runs inside of a shell's script, `env`, `xargs` and the like.
    pub wrapped: bool,
    /// The name stands for a function of the script, whose commands are calls of their own.
    pub is_function: bool,
}

impl Call {
    /// The program's name without its folder; empty when there is none or it is not certain.
    pub fn name(&self) -> &str {
        let text = self.argv.first().and_then(Arg::certain).unwrap_or_default();
        text.rsplit('/').next().unwrap_or(text)
    }

    pub fn args(&self) -> &[Arg] {
        self.argv.get(1..).unwrap_or_default()
    }
}
