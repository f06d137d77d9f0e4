//! Splits a line of code into comments, words, strings and numbers. The state carries over from line to line;
//! everything is scanned once, so cost is linear.

use std::ops::Range;

use super::languages::{CodeLanguage, Form};
use base::pattern::Pattern;
use base::search::words::listed;

static HERE_DOCUMENT: Pattern = Pattern::new(r#"(?:^|[^<])(<<)-?\s*["'\\]?([A-Za-z_]\w*)"#);
static CHARACTER: Pattern = Pattern::new(r"^'(?:\\|.')");
static REGEX_LITERAL: Pattern = Pattern::new(r"^/(?:[^/\\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/[a-z]*");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Plain,
    Comment,
    Keyword,
    Text,
    Number,
    Type,
    Function,
    /// A key, an attribute, a tag, a heading.
    Attribute,
    Removed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Nothing,
    Comment(u16),
    Text(u8),
    Tag,
    HereDocument(u32),
}

/// `line` has no line end; `state` carries over between lines.
pub fn scan(language: &CodeLanguage, line: &str, state: &mut State) -> Vec<(Range<usize>, Role)> {
    let mut scanner = Scanner { language, line, at: 0, parts: Vec::new() };
    match language.form {
        Form::Diff => scanner.diff_line(),
        Form::Markdown => scanner.markdown_line(state),
        Form::Markup => scanner.markup(state),
        Form::Code | Form::Keys => scanner.code(state),
    }
    scanner.parts
}

struct Scanner<'a> {
    language: &'a CodeLanguage,
    line: &'a str,
    at: usize,
    parts: Vec<(Range<usize>, Role)>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn take(&mut self, length: usize, role: Role) {
        let range = self.at..self.at + length;
        self.at = range.end;
        match self.parts.last_mut() {
            Some((last, same)) if *same == role => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.parts.push((range, role)),
        }
    }

    fn take_rest(&mut self, role: Role) {
        self.take(self.rest().len(), role);
    }

    fn code(&mut self, state: &mut State) {
        if let State::HereDocument(end) = *state {
            *state = if hash(self.line.trim()) == end { State::Nothing } else { *state };
            return self.take_rest(Role::Text);
        }
        loop {
            match *state {
                State::Comment(depth) => self.comment(depth, state),
                State::Text(kind) => self.text(kind, state),
                _ => {}
            }
            if self.at >= self.line.len() {
                break;
            }
            if *state == State::Nothing || *state == State::Tag {
                *state = self.token();
            }
        }
        if *state == State::Nothing && self.language.here_documents && !self.line.contains("((") {
            let found = HERE_DOCUMENT.captures(self.line).and_then(|found| found.get(1).zip(found.get(2)));
            let is_code =
                |at| self.parts.iter().any(|(part, role)| part.contains(&at) && *role == Role::Plain);
            if let Some((_, end)) = found.filter(|(sign, _)| is_code(sign.start())) {
                *state = State::HereDocument(hash(end.as_str()));
            }
        }
    }

    /// A slash begins a regular expression only where a value is expected.
    fn regex_literal(&self) -> Option<usize> {
        let before = self.line[..self.at].trim_end();
        let expected = before.is_empty()
            || before.ends_with("return")
            || before.ends_with(|c| "(=,:[!&|?{;".contains(c));
        REGEX_LITERAL.find(self.rest()).filter(|_| expected && self.language.regexes).map(|it| it.end())
    }

    fn token(&mut self) -> State {
        let (language, rest) = (self.language, self.rest());
        let space = rest.len() - rest.trim_start().len();
        if space > 0 {
            self.take(space, Role::Plain);
            return State::Nothing;
        }
        let begins_line = self.line[..self.at].trim().is_empty();
        let after_space = self.line[..self.at].ends_with(|c: char| c.is_whitespace()) || self.at == 0;
        // In shells, `#` starts a comment only at the start of a word.
        let comment = |mark: &String| rest.starts_with(mark) && (mark != "#" || after_space);
        if language.comments.iter().any(comment) {
            self.take_rest(Role::Comment);
            return State::Nothing;
        }
        if let Some((open, _)) = &language.block
            && rest.starts_with(open)
        {
            self.take(open.len(), Role::Comment);
            return State::Comment(1);
        }
        for (kind, text) in language.texts.iter().enumerate() {
            if rest.starts_with(&text.open) {
                let is_key = language.form == Form::Keys && self.key_after_text(rest, &text.open);
                if text.open == "'" && language.ticks && !CHARACTER.is_match(rest) {
                    // A lifetime, or a quote within a word.
                    self.take(1, Role::Plain);
                    return State::Nothing;
                }
                if is_key {
                    let end = rest[1..].find(&text.close).map_or(rest.len(), |at| at + 2);
                    self.take(end, Role::Attribute);
                    return State::Nothing;
                }
                self.take(text.open.len(), Role::Text);
                return State::Text(u8::try_from(kind).unwrap_or(0));
            }
        }
        let first = rest.chars().next().unwrap_or(' ');
        if let Some(end) = self.regex_literal() {
            self.take(end, Role::Text);
        } else if first.is_ascii_digit() {
            let number = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let mut end = rest.find(|c| !number(c)).unwrap_or(rest.len());
            // `0..9` is two numbers.
            end = rest[..end].find("..").unwrap_or(end);
            self.take(end, Role::Number);
        } else if is_word(first) || language.sigils.contains(first) {
            self.word(first, begins_line);
        } else if first == '[' && begins_line && language.form == Form::Keys && rest.trim_end().ends_with(']')
        {
            self.take_rest(if language.comments.iter().any(|mark| mark == "#") {
                Role::Keyword
            } else {
                Role::Plain
            });
        } else {
            self.take(first.len_utf8(), Role::Plain);
        }
        State::Nothing
    }

    fn word(&mut self, first: char, begins_line: bool) {
        let (language, rest) = (self.language, self.rest());
        let sigil = if language.sigils.contains(first) { first.len_utf8() } else { 0 };
        let part = |c: char| is_word(c) || (c == '-' && language.dashes);
        let end = sigil + rest[sigil..].find(|c| !part(c)).unwrap_or(rest.len() - sigil);
        let (word, after) = rest.split_at(end.max(first.len_utf8()));
        let after = after.trim_start_matches(' ');
        let lower;
        let known = if language.any_case {
            lower = word.to_ascii_lowercase();
            lower.as_str()
        } else {
            word
        };
        let key = language.form == Form::Keys
            && (begins_line || language.block.is_some() || self.line[..self.at].ends_with("- "))
            && after.starts_with([':', '=']);
        let role = if key || sigil > 0 {
            Role::Attribute
        } else if listed(&language.keywords, known) {
            Role::Keyword
        } else if listed(&language.constants, known) {
            Role::Number
        } else if language.form == Form::Keys {
            Role::Plain
        } else if after.starts_with('(') || (after.starts_with("!(") && language.ticks) {
            Role::Function
        } else if word.starts_with(|c: char| c.is_ascii_uppercase()) && language.capital_types {
            Role::Type
        } else {
            Role::Plain
        };
        self.take(word.len(), role);
    }

    fn comment(&mut self, mut depth: u16, state: &mut State) {
        let Some((open, close)) = &self.language.block else {
            *state = State::Nothing;
            return;
        };
        let mut end = 0;
        let rest = self.rest();
        while end < rest.len() {
            if rest[end..].starts_with(close) {
                (depth, end) = (depth - 1, end + close.len());
                if depth == 0 {
                    break;
                }
            } else if self.language.nested && rest[end..].starts_with(open) {
                (depth, end) = (depth.saturating_add(1), end + open.len());
            } else {
                end += rest[end..].chars().next().map_or(1, char::len_utf8);
            }
        }
        self.take(end, Role::Comment);
        *state = if depth == 0 { State::Nothing } else { State::Comment(depth) };
    }

    fn text(&mut self, kind: u8, state: &mut State) {
        *state = State::Nothing;
        let Some(text) = self.language.texts.get(usize::from(kind)) else { return };
        let rest = self.rest();
        let mut end = 0;
        while end < rest.len() {
            if rest[end..].starts_with(&text.close) {
                return self.take(end + text.close.len(), Role::Text);
            }
            let mut chars = rest[end..].chars();
            let escaped = chars.next() == Some('\\') && !text.raw;
            let length =
                rest[end..].chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum::<usize>();
            end += length.max(1);
        }
        // In most languages a trailing backslash continues the string.
        if text.lines || (rest.ends_with('\\') && !text.raw) {
            *state = State::Text(kind);
        }
        self.take(rest.len(), Role::Text);
    }

    fn key_after_text(&self, rest: &str, quote: &str) -> bool {
        let behind = rest[1..].split_once(quote).map(|(_, behind)| behind.trim_start());
        behind.is_some_and(|behind| behind.starts_with(':') || behind.starts_with('='))
    }

    fn diff_line(&mut self) {
        let role = match self.line.as_bytes().first() {
            Some(b'@') => Role::Keyword,
            _ if self.line.starts_with("+++") || self.line.starts_with("---") => Role::Attribute,
            Some(b'+') => Role::Text,
            Some(b'-') => Role::Removed,
            _ if self.line.starts_with("diff ") || self.line.starts_with("index ") => Role::Attribute,
            _ => Role::Plain,
        };
        self.take_rest(role);
    }

    fn markdown_line(&mut self, state: &mut State) {
        let trimmed = self.line.trim_start();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        if fence {
            *state = if *state == State::Nothing { State::Text(0) } else { State::Nothing };
            return self.take_rest(Role::Attribute);
        }
        if *state != State::Nothing {
            return self.take_rest(Role::Text);
        }
        if trimmed.starts_with('#') {
            return self.take_rest(Role::Keyword);
        }
        if trimmed.starts_with('>') {
            return self.take_rest(Role::Comment);
        }
        let indent = self.line.len() - trimmed.len();
        self.take(indent, Role::Plain);
        if trimmed.starts_with("- ") || trimmed.starts_with("* ") {
            self.take(1, Role::Attribute);
        }
        while let Some(open) = self.rest().find('`') {
            self.take(open, Role::Plain);
            let length = self.rest()[1..].find('`').map_or(1, |close| close + 2);
            self.take(length, if length > 1 { Role::Text } else { Role::Plain });
        }
        self.take_rest(Role::Plain);
    }

    fn markup(&mut self, state: &mut State) {
        while self.at < self.line.len() {
            match *state {
                State::Comment(depth) => self.comment(depth, state),
                State::Text(kind) => {
                    self.text(kind, state);
                    // An attribute's string ended; the tag is still open.
                    *state = if *state == State::Nothing { State::Tag } else { *state };
                }
                State::Tag => self.tag(state),
                State::Nothing | State::HereDocument(_) => {
                    let rest = self.rest();
                    let open = rest.find('<').unwrap_or(rest.len());
                    self.take(open, Role::Plain);
                    if self.rest().starts_with("<!--") {
                        self.take(4, Role::Comment);
                        *state = State::Comment(1);
                    } else if open < rest.len() {
                        let rest = self.rest();
                        let name = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
                        let start = rest.find(name).unwrap_or(rest.len()).min(2);
                        let end = start + rest[start..].find(|c| !name(c)).unwrap_or(rest.len() - start);
                        self.take(end.max(1), Role::Keyword);
                        *state = State::Tag;
                    }
                }
            }
        }
    }

    fn tag(&mut self, state: &mut State) {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        if first == '>' || rest.starts_with("/>") || rest.starts_with("?>") {
            *state = State::Nothing;
            self.take(if first == '>' { 1 } else { 2 }, Role::Keyword);
        } else if first == '"' || first == '\'' {
            self.take(1, Role::Text);
            *state = State::Text(u8::from(first == '\''));
        } else if is_word(first) {
            let end = rest.find(|c: char| !is_word(c) && !"-:.@".contains(c)).unwrap_or(rest.len());
            self.take(end, Role::Attribute);
        } else {
            self.take(first.len_utf8(), Role::Plain);
        }
    }
}

fn hash(word: &str) -> u32 {
    word.bytes().fold(0, |hash: u32, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::languages;
    use super::*;
    use proptest::prelude::*;

    fn parts(language: &str, text: &str) -> String {
        let language = languages::find(language).unwrap();
        let mut state = State::default();
        let mut shown = Vec::new();
        for line in text.lines() {
            for (range, role) in scan(language, line, &mut state) {
                if role != Role::Plain {
                    shown.push(format!("{role:?}:{}", &line[range]));
                }
            }
        }
        shown.join(" | ")
    }

    #[test]
    fn rust() {
        let text = "pub fn main() { // go\n    let s: &'a str = \"x\\\"y\"; /* a\n b */ call(0x1f, 'c', Vec::new(), 1..2);";
        insta::assert_snapshot!(parts("rust", text), @r#"Keyword:pub | Keyword:fn | Function:main | Comment:// go | Keyword:let | Keyword:str | Text:"x\"y" | Comment:/* a | Comment: b */ | Function:call | Number:0x1f | Text:'c' | Type:Vec | Function:new | Number:1 | Number:2"#);
    }

    #[test]
    fn others() {
        let python = "@cached\ndef f(x):\n    \"\"\"doc\n    more\"\"\"\n    return None # x";
        insta::assert_snapshot!(parts("py", python), @r#"Attribute:@cached | Keyword:def | Function:f | Text:"""doc | Text:    more""" | Keyword:return | Number:None | Comment:# x"#);
        insta::assert_snapshot!(parts("json", "{\"a\": [1, true, \"b\"]}"), @r#"Attribute:"a" | Number:1 | Number:true | Text:"b""#);
        insta::assert_snapshot!(parts("toml", "[a.b] \nkey = \"v\" # c"), @r##"Keyword:[a.b]  | Attribute:key | Text:"v" | Comment:# c"##);
        insta::assert_snapshot!(parts("yaml", "on:\n  - name: x # y\n    run: \"z\""), @r#"Attribute:on | Attribute:name | Comment:# y | Attribute:run | Text:"z""#);
        insta::assert_snapshot!(parts("html", "<a href=\"x\">y</a><!-- z\n-->"), @r#"Keyword:<a | Attribute:href | Text:"x" | Keyword:> | Keyword:</a> | Comment:<!-- z | Comment:-->"#);
        insta::assert_snapshot!(parts("sh", "if [ \"$x\" = a#b ]; then echo 'q'; fi # c"), @r##"Keyword:if | Text:"$x" | Keyword:then | Keyword:echo | Text:'q' | Keyword:fi | Comment:# c"##);
        insta::assert_snapshot!(parts("ts", "const x = `a\nb` as Foo;"), @"Keyword:const | Text:`a | Text:b` | Keyword:as | Type:Foo");
        let here = "cat <<'EOF' | wc # c\nit's \"here\nEOF\necho $((1 << n)) <<< x";
        insta::assert_snapshot!(parts("sh", here), @r##"Text:'EOF' | Comment:# c | Text:it's "here | Text:EOF | Keyword:echo | Attribute:$ | Number:1"##);
        insta::assert_snapshot!(parts("js", "x = /a\"[/]/g; y = a / b / c; // d"), @r#"Text:/a"[/]/g | Comment:// d"#);
        insta::assert_snapshot!(parts("sql", "SELECT a FROM t -- c"), @"Keyword:SELECT | Keyword:FROM | Comment:-- c");
        insta::assert_snapshot!(parts("diff", "@@ -1 +1 @@\n-a\n+b"), @"Keyword:@@ -1 +1 @@ | Removed:-a | Text:+b");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_any_language(lines in prop::collection::vec("[ -~é日\t]{0,40}", 0..6)) {
            for language in languages::ALL.iter() {
                let mut state = State::default();
                for line in &lines {
                    let mut at = 0;
                    for (range, _) in scan(language, line, &mut state) {
                        prop_assert_eq!(range.start, at);
                        at = range.end;
                        prop_assert!(line.is_char_boundary(at));
                    }
                    prop_assert_eq!(at, line.len(), "{} in {}", line, language.names);
                }
            }
        }
    }
}
