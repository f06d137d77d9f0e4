//! Words: quotes, expansions, substitutions, here-document bodies. Refuses what bash may read in several ways.

use super::ast::{Word, WordPiece};
use super::lexer::{Lexer, OPEN_QUOTE, Parsed, Until, fail};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMode {
    Plain,
    /// After `==` and `=~` in `[[ ]]`, where parentheses and bars belong to the pattern.
    Pattern,
}

#[derive(Default)]
struct WordParser(Vec<WordPiece>);

impl WordParser {
    fn text(&mut self, c: char, is_quoted: bool) {
        match self.0.last_mut() {
            Some(WordPiece::Text { text, quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.0.push(WordPiece::Text { text: c.to_string(), quoted: is_quoted }),
        }
    }

    fn quoted(&mut self, text: String) {
        self.0.push(WordPiece::Text { text, quoted: true });
    }

    fn so_far(&self) -> &str {
        match self.0.as_slice() {
            [WordPiece::Text { text, quoted: false }] => text,
            _ => "",
        }
    }
}

/// `None` at an operator or the end.
pub fn read(lexer: &mut Lexer, mode: WordMode) -> Parsed<Option<Word>> {
    let mut parts = WordParser::default();
    let mut open = 0_usize;
    while let Some(c) = lexer.peek() {
        match c {
            ' ' | '\t' | '\n' if open == 0 => break,
            ';' | '&' if open > 0 => return fail("a pattern contains an operator"),
            '(' if mode == WordMode::Pattern => open += 1,
            ')' if open > 0 => open -= 1,
            '|' if (open > 0 || (mode == WordMode::Pattern && !parts.0.is_empty()))
                && lexer.peek_second() != Some('|') => {}
            ';' | '&' | '|' | '(' | ')' => break,
            '<' | '>' => {
                if lexer.peek_second() != Some('(') {
                    break;
                }
                lexer.take();
                lexer.take();
                let script = substitution(lexer)?;
                parts.0.push(WordPiece::Process(script));
                continue;
            }
            '\'' | '"' | '\\' | '$' | '`' => {
                special(lexer, &mut parts)?;
                continue;
            }
            '[' if mode == WordMode::Plain && is_name(parts.so_far()) => {
                subscript(lexer, &mut parts)?;
                continue;
            }
            _ => {}
        }
        lexer.take();
        parts.text(c, false);
    }
    if open > 0 {
        return fail("a pattern is not closed");
    }
    Ok((!parts.0.is_empty()).then_some(Word { parts: parts.0 }))
}

pub fn required(lexer: &mut Lexer, missing: &str) -> Parsed<Word> {
    read(lexer, WordMode::Plain)?.map_or_else(|| fail(missing), Ok)
}

pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A quote, an escape or an expansion outside double quotes.
fn special(lexer: &mut Lexer, parts: &mut WordParser) -> Parsed<()> {
    match lexer.take() {
        Some('\'') => {
            let text = single_quoted(lexer, false)?;
            parts.quoted(text);
        }
        Some('"') => double_quoted(lexer, parts)?,
        Some('\\') => match lexer.next_raw() {
            Some(c) => parts.text(c, true),
            None => return fail("it ends with a backslash"),
        },
        Some('$') => dollar(lexer, parts, false)?,
        Some('`') => backticks(lexer, parts, false)?,
        _ => return fail("a word can't be read"),
    }
    Ok(())
}

fn variable_name(lexer: &mut Lexer) -> String {
    let mut name = String::new();
    while let Some(c) = lexer.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
        lexer.take();
    }
    name
}

fn single_quoted(lexer: &mut Lexer, ansi: bool) -> Parsed<String> {
    let mut text = String::new();
    loop {
        match lexer.next_raw() {
            Some('\'') => return Ok(text),
            Some('\\') if ansi => ansi_escape(lexer, &mut text)?,
            Some(c) => text.push(c),
            None => return fail(OPEN_QUOTE),
        }
    }
}

fn double_quoted(lexer: &mut Lexer, parts: &mut WordParser) -> Parsed<()> {
    parts.quoted(String::new());
    while let Some(c) = lexer.take() {
        match c {
            '"' => return Ok(()),
            '\\' => escaped(lexer, parts, "$`\"\\")?,
            '$' => dollar(lexer, parts, true)?,
            '`' => backticks(lexer, parts, true)?,
            c => parts.text(c, true),
        }
    }
    fail(OPEN_QUOTE)
}

/// A backslash that quotes only the characters in `special`.
fn escaped(lexer: &mut Lexer, parts: &mut WordParser, special: &str) -> Parsed<()> {
    match lexer.next_raw() {
        Some(c) if special.contains(c) => parts.text(c, true),
        Some(c) => {
            parts.text('\\', true);
            parts.text(c, true);
        }
        None => return fail("it ends with a backslash"),
    }
    Ok(())
}

fn dollar(lexer: &mut Lexer, parts: &mut WordParser, quoted: bool) -> Parsed<()> {
    match lexer.peek() {
        Some('(') => {
            lexer.take();
            if lexer.eat('(') {
                let inner = arithmetic(lexer)?;
                parts.0.push(WordPiece::Arithmetic { inner, quoted });
            } else {
                let script = substitution(lexer)?;
                parts.0.push(WordPiece::Command { script, quoted });
            }
        }
        Some('{') => {
            lexer.take();
            lexer.enter()?;
            let part = braced(lexer, quoted)?;
            lexer.leave();
            parts.0.push(part);
        }
        Some('[') => return fail("$[…] is not supported; write $((…))"),
        Some('\'') if !quoted => {
            lexer.take();
            let text = single_quoted(lexer, true)?;
            parts.quoted(text);
        }
        Some('"') if !quoted => {
            lexer.take();
            double_quoted(lexer, parts)?;
        }
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            parts.0.push(WordPiece::Variable { name: variable_name(lexer), quoted });
        }
        Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
            lexer.take();
            parts.0.push(WordPiece::Variable { name: c.to_string(), quoted });
        }
        _ => parts.text('$', quoted),
    }
    Ok(())
}

fn substitution(lexer: &mut Lexer) -> Parsed<Option<Box<super::ast::Node>>> {
    let outside = std::mem::take(&mut lexer.pending);
    lexer.waiting_outside += outside.len();
    lexer.substitutions += 1;
    let script = (lexer.read_script)(lexer, Until::Parenthesis)?;
    lexer.substitutions -= 1;
    if !lexer.pending.is_empty() {
        return fail("a here-document has no body inside its substitution");
    }
    lexer.waiting_outside -= outside.len();
    lexer.pending = outside;
    Ok(script.map(Box::new))
}

fn backticks(lexer: &mut Lexer, parts: &mut WordParser, quoted: bool) -> Parsed<()> {
    let mut text = String::new();
    loop {
        match lexer.next_raw() {
            Some('`') => break,
            Some('\\') => match lexer.next_raw() {
                Some(c @ ('$' | '`' | '\\')) => text.push(c),
                Some('"') if quoted => text.push('"'),
                Some(c) => {
                    text.push('\\');
                    text.push(c);
                }
                None => return fail("a backtick is not closed"),
            },
            Some(c) => text.push(c),
            None => return fail("a backtick is not closed"),
        }
    }
    let mut inner = Lexer::new(&text, lexer.depth, lexer.read_script)?;
    let script = (lexer.read_script)(&mut inner, Until::End)?.map(Box::new);
    parts.0.push(WordPiece::Command { script, quoted });
    Ok(())
}

fn ansi_escape(lexer: &mut Lexer, text: &mut String) -> Parsed<()> {
    let Some(c) = lexer.next_raw() else { return fail(OPEN_QUOTE) };
    let (radix, most) = match c {
        'x' => (16, 2),
        'u' => (16, 4),
        'U' => (16, 8),
        '0'..='7' => (8, 3),
        _ => {
            let plain = match c {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'e' | 'E' => '\u{1b}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                '\\' | '\'' | '"' | '?' => c,
                'c' => return fail("a control escape is not supported"),
                other => {
                    text.push('\\');
                    other
                }
            };
            text.push(plain);
            return Ok(());
        }
    };
    let mut digits = String::new();
    if radix == 8 {
        digits.push(c);
    }
    while digits.len() < most {
        let Some(digit) = lexer.peek_raw().filter(|c| c.is_digit(radix)) else { break };
        digits.push(digit);
        lexer.next_raw();
    }
    let value = u32::from_str_radix(&digits, radix).unwrap_or(0);
    match char::from_u32(value).filter(|c| *c != '\0' && (c.is_ascii() || !matches!(radix, 8) && most > 2)) {
        Some(c) => text.push(c),
        // Invalid bytes, or NUL, which ends the string in bash.
        None => return fail("an escape in $'…' is not supported"),
    }
    Ok(())
}

fn braced(lexer: &mut Lexer, quoted: bool) -> Parsed<WordPiece> {
    let mut operator = String::new();
    let first = lexer.peek();
    if let Some(c @ ('!' | '#')) = first
        && lexer.peek_second() != Some('}')
    {
        // `${#-}` and `${!-x}` are special parameters, too rare to handle.
        operator.push(c);
        lexer.take();
    }
    let mut name = String::new();
    match lexer.peek() {
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => name = variable_name(lexer),
        Some(c) if "@*#?-$!".contains(c) => {
            name.push(c);
            lexer.take();
        }
        _ => return fail("${…} can't be read"),
    }
    let mut inner = WordParser::default();
    if lexer.eat('[') {
        operator.push('[');
        until(lexer, ']', quoted, &mut inner)?;
    }
    if lexer.eat('}') {
        return Ok(if operator.is_empty() {
            WordPiece::Variable { name, quoted }
        } else {
            WordPiece::Expansion { name, operator, inner: Word { parts: inner.0 }, quoted }
        });
    }
    match lexer.peek() {
        Some(c) if ":-=?+#%/^,@~".contains(c) => operator.push(c),
        _ => return fail("${…} can't be read"),
    }
    until(lexer, '}', quoted, &mut inner)?;
    Ok(WordPiece::Expansion { name, operator, inner: Word { parts: inner.0 }, quoted })
}

/// Also consumes `close`.
fn until(lexer: &mut Lexer, close: char, quoted: bool, parts: &mut WordParser) -> Parsed<()> {
    let mut open = 0_usize;
    while let Some(c) = lexer.peek() {
        if c == close && open == 0 {
            lexer.take();
            return Ok(());
        }
        match c {
            '\'' if quoted => return fail("a single quote inside \"${…}\" is not supported"),
            '\'' | '"' | '\\' | '`' => special_in(lexer, parts, quoted)?,
            '$' => {
                lexer.take();
                dollar(lexer, parts, quoted)?;
            }
            '<' | '>' if !quoted && lexer.peek_second() == Some('(') => {
                lexer.take();
                lexer.take();
                let script = substitution(lexer)?;
                parts.0.push(WordPiece::Process(script));
            }
            c => {
                if close == ']' {
                    open = open + usize::from(c == '[') - usize::from(c == ']');
                }
                lexer.take();
                parts.text(c, quoted);
            }
        }
    }
    fail("an expansion is not closed")
}

fn special_in(lexer: &mut Lexer, parts: &mut WordParser, quoted: bool) -> Parsed<()> {
    if quoted && lexer.peek() == Some('`') {
        lexer.take();
        return backticks(lexer, parts, true);
    }
    special(lexer, parts)
}

/// `name[…]`: bash reads up to the closing bracket, so blanks and operators inside would be ambiguous.
fn subscript(lexer: &mut Lexer, parts: &mut WordParser) -> Parsed<()> {
    lexer.take();
    parts.text('[', false);
    while let Some(c) = lexer.peek() {
        match c {
            ']' => {
                lexer.take();
                parts.text(']', false);
                return Ok(());
            }
            '\'' | '"' | '\\' | '$' | '`' => special(lexer, parts)?,
            c if c.is_whitespace() || ";&|()<>#[".contains(c) => break,
            c => {
                lexer.take();
                parts.text(c, false);
            }
        }
    }
    fail("a bracket after a name is not closed")
}

pub fn arithmetic(lexer: &mut Lexer) -> Parsed<Word> {
    lexer.enter()?;
    let mut parts = WordParser::default();
    let mut open = 0_usize;
    while let Some(c) = lexer.peek() {
        match c {
            ')' if open == 0 => {
                lexer.take();
                if !lexer.eat(')') {
                    return fail("(( may begin arithmetic or two subshells; write `( (` for the latter");
                }
                lexer.leave();
                return Ok(Word { parts: parts.0 });
            }
            '\'' | '\\' => return fail("quotes in arithmetic are not supported"),
            '"' | '`' => special_in(lexer, &mut parts, false)?,
            '$' => {
                lexer.take();
                dollar(lexer, &mut parts, true)?;
            }
            c => {
                match c {
                    '(' => open += 1,
                    ')' => open -= 1,
                    _ => {}
                }
                lexer.take();
                parts.text(c, true);
            }
        }
    }
    fail("arithmetic is not closed")
}

/// Reads the here-documents that start after this line.
pub fn line_end(lexer: &mut Lexer) -> Parsed<()> {
    lexer.take();
    if lexer.waiting_outside > 0 {
        return fail("a here-document begins before a substitution that spans lines");
    }
    for pending in std::mem::take(&mut lexer.pending) {
        let mut text = String::new();
        loop {
            let Some(mut line) = lexer.raw_line() else { return fail("a here-document is not closed") };
            // In an expanded body, a backslash at the end continues the line.
            while !pending.literal && line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1 {
                line.pop();
                let Some(more) = lexer.raw_line() else { return fail("a here-document is not closed") };
                line.push_str(&more);
            }
            let line = if pending.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if line == pending.delimiter {
                break;
            }
            // Only some versions of bash accept `END)` as the end of both the document and the substitution.
            if lexer.substitutions > 0
                && line.strip_prefix(&pending.delimiter).is_some_and(|rest| rest.contains(')'))
            {
                return fail("a line of a here-document may be its end or not");
            }
            text.push_str(line);
            text.push('\n');
        }
        let mut parts = WordParser::default();
        if pending.literal {
            parts.quoted(text);
        } else {
            let mut inner = Lexer::new(&text, lexer.depth, lexer.read_script)?;
            while let Some(c) = inner.take() {
                match c {
                    '\\' => escaped(&mut inner, &mut parts, "$`\\")?,
                    '$' => dollar(&mut inner, &mut parts, true)?,
                    '`' => backticks(&mut inner, &mut parts, true)?,
                    c => parts.text(c, true),
                }
            }
        }
        let _ = pending.body.set(Word { parts: parts.0 });
    }
    Ok(())
}
