//! The tree of a shell script, as far as it affects what runs.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands of a pipe run in separate processes. `For` is also `select`; without `in`, its words are the positional parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Simple(Simple),
    Pipe(Vec<Node>),
    Steps(Vec<Connector>),
    Subshell(Box<Node>),
    Group(Box<Node>),
    If { branches: Vec<(Node, Node)>, otherwise: Option<Box<Node>> },
    Loop { condition: Box<Node>, body: Box<Node> },
    For { name: String, words: Option<Vec<Word>>, body: Box<Node> },
    ForArithmetic { expression: Word, body: Box<Node> },
    Case { subject: Word, arms: Vec<(Vec<Word>, Option<Node>)> },
    Function { name: String, body: Box<Node> },
    Coprocess(Box<Node>),
    Arithmetic(Word),
    Test(Vec<Word>),
    Redirected { node: Box<Node>, redirects: Vec<Redirect> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    Succeeded,
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Connector {
    pub when: When,
    pub node: Node,
    pub background: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub source: String,
}

/// `name=value`, `name[…]=value`, `name+=value`, `name=(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub name: String,
    /// An array element or an append, so the value alone isn't the variable's.
    pub partial: bool,
    pub subscript: Option<Word>,
    pub value: Assigned,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Assigned {
    Scalar(Word),
    Array(Vec<Word>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    pub parts: Vec<WordPiece>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WordPiece {
    /// Unquoted text may contain patterns, braces and a tilde.
    Text { text: String, quoted: bool },
    /// `$name` or `${name}`.
    Variable { name: String, quoted: bool },
    /// With an operator: the value is unknown, and `inner` is what it may expand to.
    Expansion { name: String, operator: String, inner: Word, quoted: bool },
    /// `$(…)` or backticks; `None` if empty.
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
    pub body: Option<Rc<OnceCell<Word>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    Read,
    /// `>`, `>>`, `>|`, `<>`, `&>`, and `>&` with a file.
    Write,
    /// `2>&1`, `<&3`, `>&-`; not a file.
    Copy,
    HereDocument,
    /// The target is the text itself.
    HereString,
}

impl Word {
    /// The text of a single unquoted literal, which alone can be a reserved word.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPiece::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
