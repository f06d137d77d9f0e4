//! The tree of a shell script, as far as it matters for what will run: every command, every word with its expansions.
//! Plain data.

use std::cell::OnceCell;
use std::rc::Rc;

/// A part of the script that runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Simple(Simple),
    /// `a | b`: each in a process of its own.
    Pipe(Vec<Node>),
    /// One after another.
    Steps(Vec<Connector>),
    Subshell(Box<Node>),
    /// `{ …; }`.
    Group(Box<Node>),
    /// `if`: conditions with what follows them, then `else`.
    If {
        branches: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    /// `while` and `until`.
    Loop {
        condition: Box<Node>,
        body: Box<Node>,
    },
    /// `for` and `select`; without `in` the words are the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Box<Node>,
    },
    /// `for ((…))`.
    ForArithmetic {
        expression: Word,
        body: Box<Node>,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Option<Node>)>,
    },
    Function {
        name: String,
        body: Box<Node>,
    },
    Coprocess(Box<Node>),
    /// `((…))`.
    Arithmetic(Word),
    /// `[[ … ]]`.
    Test(Vec<Word>),
    /// A compound command with redirections behind it.
    Redirected {
        node: Box<Node>,
        redirects: Vec<Redirect>,
    },
}

/// When a step runs, seen from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// After `&&`.
    Succeeded,
    /// After `||`.
    Failed,
}

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    pub when: When,
    pub node: Node,
    /// Ended by `&`.
    pub background: bool,
}

/// Assignments, a program with its arguments, and redirections; each may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The text as it was written, for people.
    pub source: String,
}

/// `name=value`, `name[…]=value`, `name+=value`, `name=(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub name: String,
    /// Whether an element of an array is set, or something is appended: the value alone is then not the variable's.
    pub partial: bool,
    /// What stands in the brackets.
    pub subscript: Option<Word>,
    pub value: Assigned,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Assigned {
    Scalar(Word),
    Array(Vec<Word>),
}

/// Parts that stand together without a space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    pub parts: Vec<WordPiece>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WordPiece {
    /// Literal text. Unquoted text may still hold patterns, braces and a tilde.
    Text { text: String, quoted: bool },
    /// `$name` or `${name}`.
    Variable { name: String, quoted: bool },
    /// `${…}` with an operator: the value is not known, `inner` holds what it may expand.
    Expansion { name: String, operator: String, inner: Word, quoted: bool },
    /// `$(…)` or backticks; `None` when empty.
    Command { script: Option<Box<Node>>, quoted: bool },
    /// `$((…))`.
    Arithmetic { inner: Word, quoted: bool },
    /// `<(…)` or `>(…)`.
    Process(Option<Box<Node>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    pub kind: RedirectKind,
    pub target: Word,
    /// What a here-document holds.
    pub body: Option<Rc<OnceCell<Word>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    Read,
    /// `>`, `>>`, `>|`, `<>`, `&>`, and `>&` with a file.
    Write,
    /// `2>&1`, `<&3`, `>&-`: touches no file.
    Copy,
    /// The target is the delimiter.
    HereDocument,
    /// The target is the text itself.
    HereString,
}

impl Word {
    /// The text when the word is one unquoted literal: only such a word can be reserved.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPiece::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
