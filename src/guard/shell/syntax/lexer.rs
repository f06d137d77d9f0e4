//! A cursor over a script's characters, with what all grammar levels share: line continuations, comments,
//! pending here-documents, and the limits that keep parsing linear.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Node, Word};

/// The system doesn't accept longer ones as one argument anyway.
pub const MAX_BYTES: usize = 128 * 1024;
/// Limits the parser's stack.
pub const MAX_DEPTH: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unparsed(pub String);

/// No shell would run it.
pub const OPEN_QUOTE: &str = "a quote is not closed";

pub type Parsed<T> = Result<T, Unparsed>;

pub fn fail<T>(why: impl Into<String>) -> Parsed<T> {
    Err(Unparsed(why.into()))
}

#[derive(Clone, Debug)]
pub struct Pending {
    pub delimiter: String,
    /// With a quoted delimiter, the body is literal.
    pub literal: bool,
    /// `<<-`.
    pub strips_tabs: bool,
    /// Filled when the body is read.
    pub body: Rc<OnceCell<Word>>,
}

/// Reads a script up to `)` or the end; words need it for substitutions.
pub type ReadScript = fn(&mut Lexer, Until) -> Parsed<Option<Node>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    End,
    Parenthesis,
}

pub struct Lexer {
    chars: Vec<char>,
    pub at: usize,
    pub depth: usize,
    pub pending: Vec<Pending>,
    /// Here-documents outside the current substitution; a line end inside it would belong to them.
    pub waiting_outside: usize,
    /// Number of open `$(`, `<(` and `>(`.
    pub substitutions: usize,
    pub read_script: ReadScript,
}

impl Lexer {
    pub fn new(text: &str, depth: usize, read_script: ReadScript) -> Parsed<Self> {
        if text.len() > MAX_BYTES {
            return fail("it is too long");
        }
        if text.contains('\0') {
            return fail("it contains a NUL character");
        }
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            pending: Vec::new(),
            waiting_outside: 0,
            substitutions: 0,
            read_script,
        })
    }

    /// Must be followed by [`Lexer::leave`].
    pub fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { fail("it is nested too deeply") } else { Ok(()) }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    pub fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at) == Some(&'\\') && self.chars.get(self.at + 1) == Some(&'\n') {
            self.at += 2;
        }
        self.chars.get(self.at).copied()
    }

    /// The second character from here, skipping line continuations.
    pub fn peek_second(&mut self) -> Option<char> {
        let here = self.at;
        self.peek()?;
        let first = self.at;
        self.at += 1;
        let second = self.peek();
        self.at = here.max(first);
        second
    }

    pub fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// Skips no line continuations; for single quotes and literal bodies.
    pub fn next_raw(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(c)
    }

    pub fn peek_raw(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    pub fn eat_str(&mut self, wanted: &str) -> bool {
        let here = self.at;
        let all = wanted.chars().all(|c| self.eat(c));
        if !all {
            self.at = here;
        }
        all
    }

    pub fn text(&self, from: usize) -> String {
        self.chars[from.min(self.at)..self.at].iter().collect::<String>().trim().to_owned()
    }

    pub fn blanks(&mut self) {
        while self.eat(' ') || self.eat('\t') {}
        if self.peek() == Some('#') {
            // A continuation doesn't extend a comment.
            while self.peek_raw().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    /// A raw line without its end; `None` at the end of the text.
    pub fn raw_line(&mut self) -> Option<String> {
        if self.at >= self.chars.len() {
            return None;
        }
        let mut line = String::new();
        while let Some(c) = self.next_raw() {
            if c == '\n' {
                break;
            }
            line.push(c);
        }
        Some(line)
    }
}
