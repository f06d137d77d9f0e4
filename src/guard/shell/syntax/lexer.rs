//! The characters of a script under a cursor, with what every level of the grammar shares: line continuations,
//! comments, pending here-documents and the bounds that keep parsing linear.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Node, Word};

/// Longer scripts are refused; the system refuses to run them as one argument anyway.
pub const MAX_BYTES: usize = 128 * 1024;
/// Deeper nesting is refused: nobody reads it, and the stack must hold.
pub const MAX_DEPTH: usize = 40;

/// Why a script is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unparsed(pub String);

pub type Parsed<T> = Result<T, Unparsed>;

pub fn fail<T>(why: impl Into<String>) -> Parsed<T> {
    Err(Unparsed(why.into()))
}

/// A here-document whose body has not been reached yet.
#[derive(Clone, Debug)]
pub struct Pending {
    pub delimiter: String,
    /// A quoted delimiter: the body is literal.
    pub literal: bool,
    /// `<<-`.
    pub strips_tabs: bool,
    /// Where its redirection waits for it.
    pub body: Rc<OnceCell<Word>>,
}

/// Reads a script up to `)` or up to the end: the grammar, which the words within it need again.
pub type ReadScript = fn(&mut Lexer, Until) -> Parsed<Option<Node>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    End,
    Parenthesis,
}

/// The cursor.
pub struct Lexer {
    chars: Vec<char>,
    pub at: usize,
    pub depth: usize,
    pub pending: Vec<Pending>,
    /// Here-documents that wait outside of the substitution that is being read: a line end in it would be theirs.
    pub waiting_outside: usize,
    /// How many `$(`, `<(` and `>(` are open here.
    pub substitutions: usize,
    pub read_script: ReadScript,
}

impl Lexer {
    pub fn new(text: &str, depth: usize, read_script: ReadScript) -> Parsed<Self> {
        if text.len() > MAX_BYTES {
            return fail("it is too long");
        }
        if text.contains('\0') {
            return fail("it holds a NUL character");
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

    /// One level deeper; the caller goes up again with [`Lexer::leave`].
    pub fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { fail("it is nested too deeply") } else { Ok(()) }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The character here, line continuations skipped.
    pub fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at) == Some(&'\\') && self.chars.get(self.at + 1) == Some(&'\n') {
            self.at += 2;
        }
        self.chars.get(self.at).copied()
    }

    /// The character after the one here. Continuations between the two are skipped as well.
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

    /// The character here as it stands: inside single quotes and literal bodies nothing is skipped.
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

    /// Takes all of `wanted` or nothing.
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

    /// Spaces, tabs and a comment.
    pub fn blanks(&mut self) {
        while self.eat(' ') || self.eat('\t') {}
        if self.peek() == Some('#') {
            // A continuation does not lengthen a comment.
            while self.peek_raw().is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        }
    }

    /// One line as it stands, without its end; `None` at the end of the text.
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
