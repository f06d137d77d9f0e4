//! The grammar: lists, pipelines, compound and simple commands, redirections. Moves only forward, so it is
//! linear in the length, and refuses what it isn't sure of.
//! Libraries don't fit a security decision: `brush-parser` takes exponential time for `((((`, returns words as
//! text to parse again and brings 60 crates; `tree-sitter-bash` misreads one in seven of our hard inputs (such as two
//! here-documents in a line); `yash-syntax` is GPL and not bash.

use super::ast::{Assigned, Connector, Node, Simple, When, Word, WordPiece};
use super::clauses::{assignment, bare, lines, redirect, take};
use super::lexer::{Lexer, Parsed, Until, fail};
use super::word::{self, WordMode, arithmetic, is_name, line_end};

/// Builtins whose arguments may be arrays.
const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

/// `None` if it runs nothing. Fails if the script is wrong, ambiguous, too long or too deep.
pub fn parse(text: &str) -> Parsed<Option<Node>> {
    let mut lexer = Lexer::new(text, 0, script)?;
    let node = script(&mut lexer, Until::End)?;
    if lexer.pending.is_empty() { Ok(node) } else { fail("a here-document has no body") }
}

fn script(lexer: &mut Lexer, until: Until) -> Parsed<Option<Node>> {
    lexer.enter()?;
    let steps = steps(lexer)?;
    match (until, lexer.take()) {
        (Until::End, None) | (Until::Parenthesis, Some(')')) => {}
        (_, Some(c)) => return fail(format!("`{c}` is not expected there")),
        (_, None) => return fail("a parenthesis is not closed"),
    }
    if until == Until::End && !lexer.pending.is_empty() {
        return fail("a here-document has no body");
    }
    lexer.leave();
    Ok((!steps.is_empty()).then_some(Node::Steps(steps)))
}

fn expect(lexer: &mut Lexer, reserved: &str) -> Parsed<()> {
    lines(lexer)?;
    if take(lexer, reserved) { Ok(()) } else { fail(format!("`{reserved}` is missing")) }
}

fn ends(lexer: &mut Lexer) -> bool {
    match lexer.peek() {
        None | Some(')') => true,
        Some(';') => matches!(lexer.peek_second(), Some(';' | '&')),
        _ => ENDS.contains(&bare(lexer).as_str()),
    }
}

/// Reserved words that can't start a command.
const ENDS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}", "]]", "in"];

fn steps(lexer: &mut Lexer) -> Parsed<Vec<Connector>> {
    let mut steps = Vec::new();
    let mut when = When::Always;
    loop {
        lines(lexer)?;
        if ends(lexer) {
            return if when == When::Always {
                Ok(steps)
            } else {
                fail("a command is missing after && or ||")
            };
        }
        let node = pipeline(lexer)?;
        lexer.blanks();
        let mut background = false;
        let next = match (lexer.peek(), lexer.peek_second()) {
            (Some('&'), Some('&')) => When::Succeeded,
            (Some('|'), Some('|')) => When::Failed,
            (Some('&'), _) => {
                background = true;
                When::Always
            }
            (Some(';'), Some(';' | '&')) | (Some('\n'), _) | (None, _) => When::Always,
            (Some(';'), _) => When::Always,
            _ if ends(lexer) => When::Always,
            (Some(c), _) => return fail(format!("`{c}` is not expected there")),
        };
        let stops = ends(lexer);
        steps.push(Connector { when, node, background });
        when = next;
        if stops {
            return Ok(steps);
        }
        if lexer.peek() == Some('\n') {
            line_end(lexer)?;
        } else {
            lexer.take();
            if when != When::Always {
                lexer.take();
            }
        }
    }
}

fn pipeline(lexer: &mut Lexer) -> Parsed<Node> {
    let mut negated = false;
    loop {
        lexer.blanks();
        if take(lexer, "!") {
            negated = true;
            continue;
        }
        let here = lexer.at;
        if !take(lexer, "time") {
            break;
        }
        lexer.blanks();
        while take(lexer, "-p") || take(lexer, "--") {
            lexer.blanks();
        }
        if lexer.peek() == Some('-') {
            // In that case `time` is a program.
            lexer.at = here;
            break;
        }
        if matches!(lexer.peek_second(), Some(';' | '&')) && lexer.peek() == Some(';') {
            return fail("a command is missing after `time`");
        }
        if matches!(lexer.peek(), None | Some(')' | ';' | '\n')) {
            return Ok(Node::Steps(Vec::new()));
        }
    }
    let mut all = vec![command(lexer)?];
    loop {
        lexer.blanks();
        if lexer.peek() != Some('|') || lexer.peek_second() == Some('|') {
            break;
        }
        lexer.take();
        lexer.eat('&');
        lines(lexer)?;
        all.push(command(lexer)?);
    }
    let node = match all.len() {
        1 => all.remove(0),
        _ => Node::Pipe(all),
    };
    if !negated {
        return Ok(node);
    }
    // The next step must not take it for a success.
    let step = |node| Connector { when: When::Always, node, background: false };
    Ok(Node::Steps(vec![step(node), step(Node::Steps(Vec::new()))]))
}

fn command(lexer: &mut Lexer) -> Parsed<Node> {
    lexer.enter()?;
    lexer.blanks();
    let node = match compound(lexer)? {
        Some(node @ (Node::Function { .. } | Node::Coprocess(_))) => node,
        Some(node) => {
            let mut redirects = Vec::new();
            lexer.blanks();
            while let Some(redirect) = redirect(lexer)? {
                redirects.push(redirect);
                lexer.blanks();
            }
            if redirects.is_empty() { node } else { Node::Redirected { node: Box::new(node), redirects } }
        }
        None => simple(lexer)?,
    };
    lexer.leave();
    Ok(node)
}

fn compound(lexer: &mut Lexer) -> Parsed<Option<Node>> {
    if lexer.peek() == Some('(') {
        lexer.take();
        if lexer.eat('(') {
            return Ok(Some(Node::Arithmetic(arithmetic(lexer)?)));
        }
        let inner = steps(lexer)?;
        if inner.is_empty() || !lexer.eat(')') {
            return fail("a subshell is empty or not closed");
        }
        return Ok(Some(Node::Subshell(Box::new(Node::Steps(inner)))));
    }
    let opening = bare(lexer);
    if !OPENINGS.contains(&opening.as_str()) && opening != "coproc" {
        return Ok(None);
    }
    lexer.eat_str(&opening);
    let node = match opening.as_str() {
        "{" => {
            let inner = filled(lexer)?;
            expect(lexer, "}")?;
            Node::Group(Box::new(inner))
        }
        "if" => conditional(lexer)?,
        "while" | "until" => {
            let condition = Box::new(filled(lexer)?);
            Node::Loop { condition, body: Box::new(loop_body(lexer)?) }
        }
        "for" | "select" => for_loop(lexer)?,
        "case" => case(lexer)?,
        "[[" => test(lexer)?,
        "function" => {
            lexer.blanks();
            let name = word::required(lexer, "a function has no name")?;
            lexer.blanks();
            if lexer.eat('(') {
                lexer.blanks();
                if !lexer.eat(')') {
                    return fail("a function's parentheses are not empty");
                }
            }
            function(lexer, &name)?
        }
        _ => {
            let inner = command(lexer)?;
            match &inner {
                Node::Function { .. } | Node::Coprocess(_) => return fail("a coprocess isn't a definition"),
                Node::Simple(simple) if simple.words.iter().skip(1).any(opens) => {
                    return fail("a compound command after a coprocess's name is not supported");
                }
                _ => {}
            }
            Node::Coprocess(Box::new(inner))
        }
    };
    Ok(Some(node))
}

const OPENINGS: [&str; 9] = ["{", "[[", "if", "while", "until", "for", "select", "case", "function"];

fn opens(word: &Word) -> bool {
    word.bare().is_some_and(|text| OPENINGS.contains(&text))
}

fn filled(lexer: &mut Lexer) -> Parsed<Node> {
    let inner = steps(lexer)?;
    if inner.is_empty() { fail("a command is missing") } else { Ok(Node::Steps(inner)) }
}

fn loop_body(lexer: &mut Lexer) -> Parsed<Node> {
    expect(lexer, "do")?;
    let body = filled(lexer)?;
    expect(lexer, "done")?;
    Ok(body)
}

fn conditional(lexer: &mut Lexer) -> Parsed<Node> {
    let mut branches = Vec::new();
    let mut otherwise = None;
    loop {
        let condition = filled(lexer)?;
        expect(lexer, "then")?;
        branches.push((condition, filled(lexer)?));
        lines(lexer)?;
        if take(lexer, "elif") {
            continue;
        }
        if take(lexer, "else") {
            otherwise = Some(Box::new(filled(lexer)?));
        }
        expect(lexer, "fi")?;
        return Ok(Node::If { branches, otherwise });
    }
}

fn for_loop(lexer: &mut Lexer) -> Parsed<Node> {
    lexer.blanks();
    if lexer.eat_str("((") {
        let expression = arithmetic(lexer)?;
        let semicolons = expression.parts.iter().map(|part| match part {
            WordPiece::Text { text, .. } => text.matches(';').count(),
            _ => 0,
        });
        if semicolons.sum::<usize>() != 2 {
            return fail("an arithmetic loop has three expressions");
        }
        lexer.blanks();
        lexer.eat(';');
        return Ok(Node::ForArithmetic { expression, body: Box::new(loop_body(lexer)?) });
    }
    let name = word::read(lexer, WordMode::Plain)?;
    let Some(name) = name.as_ref().and_then(Word::bare).filter(|name| is_name(name)) else {
        return fail("a loop has no variable");
    };
    let name = name.to_owned();
    lines(lexer)?;
    let mut words = None;
    if take(lexer, "in") {
        let all = words.insert(Vec::new());
        lexer.blanks();
        while let Some(word) = word::read(lexer, WordMode::Plain)? {
            all.push(word);
            lexer.blanks();
        }
        if !lexer.eat(';') && lexer.peek() != Some('\n') {
            return fail("a loop's word list is not closed");
        }
    } else {
        lexer.eat(';');
    }
    Ok(Node::For { name, words, body: Box::new(loop_body(lexer)?) })
}

fn case(lexer: &mut Lexer) -> Parsed<Node> {
    lexer.blanks();
    let subject = word::required(lexer, "a case has no word")?;
    expect(lexer, "in")?;
    let mut arms = Vec::new();
    loop {
        lines(lexer)?;
        if take(lexer, "esac") {
            return Ok(Node::Case { subject, arms });
        }
        lexer.eat('(');
        let mut patterns = Vec::new();
        loop {
            lexer.blanks();
            patterns.push(word::required(lexer, "a case has no pattern")?);
            lexer.blanks();
            if !lexer.eat('|') {
                break;
            }
        }
        if !lexer.eat(')') {
            return fail("a case's pattern is not closed");
        }
        let body = steps(lexer)?;
        arms.push((patterns, (!body.is_empty()).then_some(Node::Steps(body))));
        lines(lexer)?;
        if !(lexer.eat_str(";;&") || lexer.eat_str(";;") || lexer.eat_str(";&")) && bare(lexer) != "esac" {
            return fail("a case is not closed");
        }
    }
}

fn test(lexer: &mut Lexer) -> Parsed<Node> {
    let mut words: Vec<Word> = Vec::new();
    let mut pattern_next = false;
    loop {
        lines(lexer)?;
        match (lexer.peek(), lexer.peek_second()) {
            (Some('&'), Some('&')) | (Some('|'), Some('|')) => {
                lexer.take();
                lexer.take();
            }
            (Some('<' | '>'), second) if second != Some('(') => {
                lexer.take();
            }
            (Some('(' | ')'), _) if !pattern_next => {
                lexer.take();
            }
            _ => {
                let mode = if pattern_next { WordMode::Pattern } else { WordMode::Plain };
                let Some(word) = word::read(lexer, mode)? else { return fail("[[ is not closed") };
                match word.bare() {
                    Some("]]") => return Ok(Node::Test(words)),
                    bare => pattern_next = matches!(bare, Some("=~" | "==" | "=" | "!=")),
                }
                words.push(word);
                continue;
            }
        }
        pattern_next = false;
    }
}

fn function(lexer: &mut Lexer, name: &Word) -> Parsed<Node> {
    let name = match name.parts.as_slice() {
        [WordPiece::Text { text, quoted: false }] => text.clone(),
        _ => return fail("a function's name is not plain"),
    };
    lines(lexer)?;
    match command(lexer)? {
        Node::Simple(_) | Node::Function { .. } | Node::Coprocess(_) => fail("a function has no body"),
        body => Ok(Node::Function { name, body: Box::new(body) }),
    }
}

fn simple(lexer: &mut Lexer) -> Parsed<Node> {
    let start = lexer.at;
    let first = bare(lexer);
    if first == "!" || ENDS.contains(&first.as_str()) {
        return fail("a command is missing before a reserved word");
    }
    let mut made = Simple::default();
    loop {
        lexer.blanks();
        if let Some(redirect) = redirect(lexer)? {
            made.redirects.push(redirect);
            continue;
        }
        match lexer.peek() {
            None | Some('\n' | ';' | '&' | '|' | ')') => break,
            Some('(') => {
                let alone = made.assignments.is_empty() && made.redirects.is_empty();
                let [name] = made.words.as_slice() else { return fail("`(` is not expected there") };
                lexer.take();
                lexer.blanks();
                if !alone || !lexer.eat(')') {
                    return fail("`(` is not expected there");
                }
                let name = name.clone();
                return function(lexer, &name);
            }
            Some(_) => {}
        }
        let word = word::required(lexer, "a word is missing")?;
        let declares = made.words.first().and_then(Word::bare).is_some_and(|name| DECLARING.contains(&name));
        let assigned = (made.words.is_empty() || declares).then(|| assignment(&word)).flatten();
        match assigned {
            Some(mut assigned) if lexer.peek() == Some('(') => {
                if !matches!(&assigned.value, Assigned::Scalar(value) if value.parts.is_empty()) {
                    return fail("`(` is not expected there");
                }
                assigned.value = Assigned::Array(array(lexer)?);
                made.assignments.push(assigned);
            }
            Some(assigned) if made.words.is_empty() => made.assignments.push(assigned),
            _ => made.words.push(word),
        }
    }
    if made.words.is_empty() && made.assignments.is_empty() && made.redirects.is_empty() {
        return fail("a command is missing");
    }
    made.source = lexer.text(start);
    Ok(Node::Simple(made))
}

fn array(lexer: &mut Lexer) -> Parsed<Vec<Word>> {
    lexer.take();
    let mut words = Vec::new();
    loop {
        lines(lexer)?;
        if lexer.eat(')') {
            return Ok(words);
        }
        let word = word::required(lexer, "an array is not closed")?;
        if let Some(WordPiece::Text { text, quoted: false }) = word.parts.first()
            && text.starts_with('[')
            && !text.contains(']')
        {
            return fail("a subscript with blanks or substitutions is not supported");
        }
        words.push(word);
    }
}
