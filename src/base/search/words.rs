//! Splits text into search terms: words, identifiers and paths both complete and in parts, and character
//! pairs in scripts without spaces.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Longer terms are data (hashes, base64), not words.
const MAX_TERM_BYTES: usize = 120;

/// Words that say nothing about a subject: English glue and the verbs of every coding task.
static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "about above add added adding after again all also always and another any anything are been before being \
     below both but can cannot change changed code correct correctly could create currently did different does \
     doesn doing don done each easy ensure etc even every example existing expected few file find first fix fixed \
     following for found from get gets give given gives going good had has have having help here how however \
     implement instead into isn issue its just keep know last let like look made make makes making many may might \
     more most much must need needs never new next not nothing now off old one only other our out over own please \
     possible problem project really refactor remove run running same see seem seems should show simple since \
     some something still such sure take task than thank thanks that the their them then there these they thing \
     things think this those through too tried try trying two under update use used user uses using very want \
     wants was way well were what when where whether which while who why will with within without work working \
     works would write wrong yes yet you your an as at be by do go he if in is it me my no of ok on or so to up \
     us we"
        .split(' ')
        .collect()
});

/// A complete identifier or path says more than one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKind {
    /// A part of an identifier or path, or a pair of characters of a longer run.
    Part,
    Word,
    /// Several parts joined: `read_file`, `readFile`, `a.b.c`.
    Identifier,
    Path,
}

/// In lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub text: String,
    pub kind: TermKind,
}

/// All terms in order, including repetitions and stop words.
pub fn terms(text: &str) -> Vec<Term> {
    let mut out = Vec::new();
    each(text, &mut |text, kind| out.push(Term { text: text.to_owned(), kind }));
    out
}

/// Like [`terms`] without collecting them, for large texts.
pub fn each(text: &str, take: &mut dyn FnMut(&str, TermKind)) {
    let joins = |c: char| matches!(c, '_' | '/' | '.' | '-' | ':');
    let mut out = Out { buffer: String::new(), take };
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        rest = &rest[start..];
        let dense = rest.chars().next().is_some_and(is_dense);
        let end = if dense {
            rest.find(|c| !is_dense(c)).unwrap_or(rest.len())
        } else {
            rest.find(|c: char| is_dense(c) || !(c.is_alphanumeric() || joins(c))).unwrap_or(rest.len())
        };
        let (chunk, after) = rest.split_at(end);
        if dense {
            pairs(chunk, &mut out);
        } else {
            compound(chunk.trim_end_matches(joins), &mut out);
        }
        rest = after;
    }
}

struct Out<'a> {
    buffer: String,
    take: &'a mut dyn FnMut(&str, TermKind),
}

impl Out<'_> {
    fn push(&mut self, text: &str, kind: TermKind) {
        if text.is_empty() || text.len() > MAX_TERM_BYTES {
            return;
        }
        self.buffer.clear();
        if text.is_ascii() {
            self.buffer.push_str(text);
            self.buffer.make_ascii_lowercase();
        } else {
            self.buffer.extend(text.chars().flat_map(char::to_lowercase));
        }
        if kind <= TermKind::Word {
            singular(&mut self.buffer);
        }
        (self.take)(&self.buffer, kind);
    }
}

/// The terms without stop words and single letters, each once with its strongest kind.
pub fn telling(text: &str) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    let mut indices: HashMap<String, usize> = HashMap::new();
    for term in terms(text) {
        let is_number = term.text.bytes().all(|b| b.is_ascii_digit());
        let shortest = if is_number { 3 } else { 2 };
        if term.text.len() < shortest || STOP_WORDS.contains(&*term.text) {
            continue;
        }
        let index = *indices.entry(term.text.clone()).or_insert(found.len());
        match found.get_mut(index) {
            Some(known) => known.kind = known.kind.max(term.kind),
            None => found.push(term),
        }
    }
    found
}

/// Scripts written without spaces between words.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}

/// Pairs of adjacent characters; a single character is its own term.
fn pairs(run: &str, out: &mut Out<'_>) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut first, mut second) = (starts.next().unwrap_or(0), starts.next().unwrap_or(0));
    let mut only = true;
    let mut rest = starts.peekable();
    while let Some(third) = rest.next() {
        let kind = if only && rest.peek().is_none() { TermKind::Word } else { TermKind::Part };
        out.push(&run[first..third], kind);
        (first, second, only) = (second, third, false);
    }
    if only {
        out.push(&run[first..second], TermKind::Word);
    }
}

/// A chunk such as `src/readFile.rs:10`: all of it, each identifier in it, and their parts.
fn compound(chunk: &str, out: &mut Out<'_>) {
    if chunk.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        out.push(chunk, TermKind::Word);
        return;
    }
    let pieces =
        || chunk.split(['/', '.', ':', '-']).filter(|piece| piece.chars().any(char::is_alphanumeric));
    let several = pieces().nth(1).is_some();
    if several {
        out.push(chunk, if chunk.contains('/') { TermKind::Path } else { TermKind::Identifier });
    }
    for piece in pieces() {
        let parts = identifier_parts(piece);
        let own = match (several, parts.len()) {
            (_, 2..) => TermKind::Identifier,
            (true, _) => TermKind::Part,
            (false, _) => TermKind::Word,
        };
        out.push(piece.trim_matches('_'), own);
        if parts.len() > 1 {
            for part in parts {
                out.push(part, TermKind::Part);
            }
        }
    }
}

/// `tests` finds `test`; other inflections stay, because identifiers aren't prose.
fn singular(word: &mut String) {
    if word.len() < 4 || !word.ends_with('s') || !word.is_ascii() {
        return;
    }
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "shes", "ches", "xes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 2);
    } else if !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 1);
    }
}

/// `HTTPServer_v2` becomes `HTTP`, `Server`, `v2`.
fn identifier_parts(identifier: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in identifier.split('_').filter(|piece| !piece.is_empty()) {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for at in 1..chars.len() {
            let (before, here) = (chars[at - 1].1, chars[at].1);
            let after = chars.get(at + 1).map(|(_, c)| *c);
            let rises = here.is_uppercase() && !before.is_uppercase();
            let ends_capitals =
                here.is_uppercase() && before.is_uppercase() && after.is_some_and(char::is_lowercase);
            if rises || ends_capitals {
                parts.push(&piece[start..chars[at].0]);
                start = chars[at].0;
            }
        }
        parts.push(&piece[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn identifiers_and_parts() {
        assert_eq!(words("call readFile twice"), ["call", "readfile", "read", "file", "twice"]);
        assert_eq!(words("HTTPServer_v2"), ["httpserver_v2", "http", "server", "v2"]);
        assert_eq!(
            words("see src/note/store.rs."),
            ["see", "src/note/store.rs", "src", "note", "store", "rs"]
        );
        assert_eq!(words("std::fs::read_dir"), ["std::fs::read_dir", "std", "fs", "read_dir", "read", "dir"]);
        assert_eq!(
            words("failing tests, queries, boxes, status"),
            ["failing", "test", "query", "box", "status"]
        );
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(words("数据库连接 ok"), ["数据", "据库", "库连", "连接", "ok"]);
        assert_eq!(words("库 API设计"), ["库", "api", "设计"]);
        assert_eq!(words("café Ünïcode"), ["café", "ünïcode"]);
    }

    #[test]
    fn stop_words_are_left_out() {
        let telling: Vec<String> =
            telling("please fix the login of the login_page").into_iter().map(|term| term.text).collect();
        assert_eq!(telling, ["login", "login_page", "page"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            for term in terms(&text) {
                prop_assert!(!term.text.is_empty());
            }
        }
    }
}
