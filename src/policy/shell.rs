//! Splits a command line into simple commands, as bash would. What cannot be split with certainty (substitutions,
//! heredocs, braces, subshells, background jobs) is `None`, and whoever asked must assume the worst. Knows no program.

/// One word after quotes are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Where in `text` the first unquoted `*`, `?` or `[` stands: bash may put other words here.
    pub glob_at: Option<usize>,
}

/// A file that a command is connected with. Copies of descriptors (`2>&1`) touch none and are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub writes: bool,
    pub target: Word,
}

/// A program with its arguments and files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What the next finished word is.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Argument,
    Reads,
    Writes,
    /// After `>&`: a descriptor's number, or else a file.
    CopyOut,
    /// After `<&`.
    CopyIn,
}

#[derive(Default)]
struct Splitter {
    done: Vec<Simple>,
    simple: Simple,
    word: Option<Word>,
    /// Whether the word so far has no quotes: only then can it be a descriptor's number.
    bare: bool,
    next: Option<Next>,
}

/// The simple commands of a line joined by `&&`, `||`, `;`, `|` and line ends.
pub fn split(command: &str) -> Option<Vec<Simple>> {
    let mut all = Splitter::default();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = all.quoted();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => word.text.push(inner),
                    }
                }
            }
            '"' => double_quoted(all.quoted(), &mut chars)?,
            '\\' => match chars.next()? {
                '\n' => {}
                escaped => all.quoted().text.push(escaped),
            },
            ' ' | '\t' => all.end_word()?,
            '&' if chars.peek() == Some(&'>') => {
                chars.next();
                all.end_word()?;
                chars.next_if_eq(&'>');
                all.expect(Next::Writes)?;
            }
            '\n' | ';' | '|' | '&' => {
                all.end_word()?;
                match (c, chars.peek()) {
                    ('|', Some('|')) | ('&', Some('&')) => {
                        chars.next();
                    }
                    ('&', _) | ('|', Some('&')) | (';', Some(';' | '&')) => return None,
                    _ => {}
                }
                all.end_simple(c == '\n')?;
            }
            '<' | '>' => redirect(c, &mut all, &mut chars)?,
            '#' if all.word.is_none() => while chars.next_if(|&c| c != '\n').is_some() {},
            '$' | '`' | '(' | ')' | '{' | '}' => return None,
            // Not at the front, where it turns the result round.
            '!' if all.simple.words.is_empty() => return None,
            '*' | '?' | '[' | '~' => {
                // A pattern can become anything; fine for an argument, not for a program.
                if all.simple.words.is_empty() && all.next.is_none() {
                    return None;
                }
                let word = all.plain();
                if c != '~' {
                    word.glob_at = word.glob_at.or(Some(word.text.len()));
                }
                word.text.push(c);
            }
            other => all.plain().text.push(other),
        }
    }
    all.end_word()?;
    all.end_simple(true)?;
    (!all.done.is_empty()).then_some(all.done)
}

fn double_quoted(word: &mut Word, chars: &mut Chars) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            // A dollar before one of these stands for itself: `"^end$"`.
            '$' if matches!(chars.peek(), Some('"' | ' ' | '|')) => word.text.push('$'),
            '$' | '`' => return None,
            '\\' => match chars.next()? {
                '\n' => {}
                escaped @ ('"' | '\\' | '$' | '`') => word.text.push(escaped),
                other => {
                    word.text.push('\\');
                    word.text.push(other);
                }
            },
            inner => word.text.push(inner),
        }
    }
}

/// Takes the operator as one token: what follows it is a word of its own, however close it stands.
fn redirect(first: char, all: &mut Splitter, chars: &mut Chars) -> Option<()> {
    let number = all.bare
        && all.next.is_none()
        && all.word.as_ref().is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
    if number {
        all.word = None;
    }
    all.end_word()?;
    let second = chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|'));
    all.expect(match (first, second) {
        ('>', None | Some('>' | '|')) | ('<', Some('>')) => Next::Writes,
        ('>', Some('&')) => Next::CopyOut,
        ('<', Some('&')) => Next::CopyIn,
        ('<', None) => Next::Reads,
        _ => return None,
    })
}

impl Splitter {
    fn plain(&mut self) -> &mut Word {
        if self.word.is_none() {
            self.bare = true;
        }
        self.word.get_or_insert_default()
    }

    fn quoted(&mut self) -> &mut Word {
        self.bare = false;
        self.word.get_or_insert_default()
    }

    /// A redirection needs its file before anything else.
    fn expect(&mut self, next: Next) -> Option<()> {
        self.next.replace(next).is_none().then_some(())
    }

    fn end_word(&mut self) -> Option<()> {
        let Some(word) = self.word.take() else { return Some(()) };
        let copies = || word.text == "-" || word.text.bytes().all(|byte| byte.is_ascii_digit());
        match self.next.take().unwrap_or(Next::Argument) {
            Next::Argument => self.simple.words.push(word),
            Next::CopyOut | Next::CopyIn if copies() && !word.text.is_empty() => {}
            Next::CopyIn => return None,
            Next::Reads => self.simple.redirects.push(Redirect { writes: false, target: word }),
            Next::Writes | Next::CopyOut => {
                self.simple.redirects.push(Redirect { writes: true, target: word });
            }
        }
        Some(())
    }

    fn end_simple(&mut self, may_be_empty: bool) -> Option<()> {
        if self.next.is_some() {
            return None;
        }
        let simple = std::mem::take(&mut self.simple);
        match (simple.words.is_empty(), simple.redirects.is_empty()) {
            (true, true) => return may_be_empty.then_some(()),
            _ => self.done.push(simple),
        }
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(command: &str) -> String {
        let Some(all) = split(command) else { return "?".to_owned() };
        let one = |simple: &Simple| {
            let mut parts: Vec<String> = simple.words.iter().map(|word| format!("[{}]", word.text)).collect();
            parts.extend(
                simple
                    .redirects
                    .iter()
                    .map(|r| format!("{}{}", if r.writes { '>' } else { '<' }, r.target.text)),
            );
            parts.concat()
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ; ")
    }

    #[test]
    fn words_and_redirections_are_those_of_bash() {
        for (command, wanted) in [
            ("ls -l 'a b' \"c\\\"d\" e\\ f", "[ls][-l][a b][c\"d][e f]"),
            ("a && b | c; d\ne", "[a] ; [b] ; [c] ; [d] ; [e]"),
            ("sort \"--out\\\nput=v\" f", "[sort][--output=v][f]"),
            ("grep \"^a$\" f # note; rm x\nls", "[grep][^a$][f] ; [ls]"),
            ("echo a#b", "[echo][a#b]"),
            ("find . ! -name x", "[find][.][!][-name][x]"),
            ("ls 2>/dev/null", "[ls]>/dev/null"),
            ("ls 2>/dev/nullfoo", "[ls]>/dev/nullfoo"),
            ("ls 2> /dev/null 2>&1", "[ls]>/dev/null"),
            ("echo x2>&1file", "[echo][x2]>1file"),
            ("echo '2'>f", "[echo][2]>f"),
            ("echo x >>f <g", "[echo][x]>f<g"),
            ("echo x >|f", "[echo][x]>f"),
            ("cmd &>f", "[cmd]>f"),
            ("cmd >&-", "[cmd]"),
            (">f", ">f"),
            ("cat <<E", "?"),
            ("cat <(ls)", "?"),
            ("ls &", "?"),
            ("ls >", "?"),
            ("ls > > f", "?"),
            ("echo $(ls)", "?"),
            ("echo \"$x\"", "?"),
            ("! ls", "?"),
            ("(ls)", "?"),
            ("*", "?"),
            ("'open", "?"),
            ("; ls", "?"),
            ("", "?"),
        ] {
            assert_eq!(shown(command), wanted, "{command}");
        }
        let globs = split("ls a*b '*' *").unwrap();
        let at: Vec<_> = globs[0].words.iter().map(|word| word.glob_at).collect();
        assert_eq!(at, [None, Some(1), None, Some(0)]);
    }
}
