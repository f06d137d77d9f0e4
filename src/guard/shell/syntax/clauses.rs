//! Parts of commands: reserved words, line ends, assignments, redirections.

use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Assigned, Assignment, Redirect, RedirectKind, Word, WordPiece};
use super::lexer::{Lexer, Parsed, Pending, fail};
use super::word::{self, WordMode, is_name, line_end};

pub fn lines(lexer: &mut Lexer) -> Parsed<()> {
    loop {
        lexer.blanks();
        if lexer.peek() != Some('\n') {
            return Ok(());
        }
        line_end(lexer)?;
    }
}

/// The next unquoted word, without consuming it.
pub fn bare(lexer: &mut Lexer) -> String {
    let here = lexer.at;
    let mut text = String::new();
    while let Some(c) = lexer.peek().filter(|c| !" \t\n;&|()<>".contains(*c)) {
        text.push(c);
        lexer.take();
        if text.len() > 16 {
            break;
        }
    }
    lexer.at = here;
    text
}

pub fn take(lexer: &mut Lexer, reserved: &str) -> bool {
    bare(lexer) == reserved && lexer.eat_str(reserved)
}

pub fn assignment(word: &Word) -> Option<Assignment> {
    let Some(WordPiece::Text { text, quoted: false }) = word.parts.first() else { return None };
    let name_end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (name, rest) = text.split_at(name_end);
    if !is_name(name) {
        return None;
    }
    let plain = |text: &str| WordPiece::Text { text: text.to_owned(), quoted: false };
    let (subscript, at, rest) = if rest.starts_with('[') {
        // The bracket may close in a later part.
        let mut inner = Word::default();
        let mut found = None;
        for (at, part) in word.parts.iter().enumerate() {
            let text = match part {
                WordPiece::Text { text, quoted: false } if at == 0 => &text[name_end + 1..],
                WordPiece::Text { text, quoted: false } => text,
                other => {
                    inner.parts.push(other.clone());
                    continue;
                }
            };
            if let Some((before, after)) = text.split_once(']') {
                inner.parts.push(plain(before));
                found = Some((at, after));
                break;
            }
            inner.parts.push(plain(text));
        }
        let (at, after) = found?;
        (Some(inner), at, after)
    } else {
        (None, 0, rest)
    };
    let appended = rest.starts_with("+=");
    let first = rest.strip_prefix("+=").or_else(|| rest.strip_prefix('='))?;
    let mut value = Word::default();
    if !first.is_empty() {
        value.parts.push(plain(first));
    }
    value.parts.extend(word.parts[at + 1..].iter().cloned());
    let partial = appended || subscript.is_some();
    Some(Assignment { name: name.to_owned(), partial, subscript, value: Assigned::Scalar(value) })
}

pub fn redirect(lexer: &mut Lexer) -> Parsed<Option<Redirect>> {
    let here = lexer.at;
    if lexer.eat_str("&>") {
        lexer.eat('>');
        return target(lexer, RedirectKind::Write).map(Some);
    }
    if lexer.peek() == Some('{') {
        let name = bare(lexer);
        let inner = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if inner.is_some_and(is_name) {
            lexer.eat_str(&name);
        }
    } else {
        while lexer.peek().is_some_and(|c| c.is_ascii_digit()) {
            lexer.take();
        }
    }
    let first = lexer.peek().filter(|c| matches!(c, '<' | '>'));
    if first.is_none() || lexer.peek_second() == Some('(') {
        lexer.at = here;
        return Ok(None);
    }
    let operator = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">"]
        .into_iter()
        .find(|operator| lexer.eat_str(operator));
    let made = match operator {
        Some("<<<") => target(lexer, RedirectKind::HereString)?,
        Some(operator @ ("<<" | "<<-")) => here_document(lexer, operator == "<<-")?,
        Some(operator @ ("<&" | ">&")) => {
            let file = if operator == ">&" { RedirectKind::Write } else { RedirectKind::Read };
            // In `>&2>file`, the number is what is copied.
            let Some(mut made) = any_target(lexer, file)? else { return fail("a redirection has no target") };
            let copies = made.target.bare().is_some_and(|text| {
                text == "-" || text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
            });
            if copies {
                made.kind = RedirectKind::Copy;
            }
            made
        }
        Some("<") => target(lexer, RedirectKind::Read)?,
        _ => target(lexer, RedirectKind::Write)?,
    };
    Ok(Some(made))
}

pub fn target(lexer: &mut Lexer, kind: RedirectKind) -> Parsed<Redirect> {
    let Some(redirect) = any_target(lexer, kind)? else { return fail("a redirection has no target") };
    if redirect.target.bare().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        && at_redirect(lexer)
    {
        return fail("a redirection's target is the number of the next redirection");
    }
    Ok(redirect)
}

fn any_target(lexer: &mut Lexer, kind: RedirectKind) -> Parsed<Option<Redirect>> {
    lexer.blanks();
    let Some(target) = word::read(lexer, WordMode::Plain)? else { return Ok(None) };
    let named = target.bare().and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
    if named.is_some_and(is_name) && at_redirect(lexer) {
        return fail("a redirection's target is the name of the next redirection");
    }
    Ok(Some(Redirect { kind, target, body: None }))
}

fn at_redirect(lexer: &mut Lexer) -> bool {
    matches!(lexer.peek(), Some('<' | '>'))
}

pub fn here_document(lexer: &mut Lexer, strips_tabs: bool) -> Parsed<Redirect> {
    let mut made = target(lexer, RedirectKind::HereDocument)?;
    let mut delimiter = String::new();
    let mut literal = false;
    for part in &made.target.parts {
        match part {
            WordPiece::Text { text, quoted } => {
                delimiter.push_str(text);
                literal |= *quoted;
            }
            _ => return fail("a here-document's delimiter is not plain"),
        }
    }
    let body = Rc::new(OnceCell::new());
    made.body = Some(Rc::clone(&body));
    lexer.pending.push(Pending { delimiter, literal, strips_tabs, body });
    Ok(made)
}
