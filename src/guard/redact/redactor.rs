//! Redaction for one session: every secret gets a placeholder, and an edit that quotes the placeholder gets the
//! real text back. The mapping stays in memory and is never written to disk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::detector::{self, PREFIX, SecretSpan, TextSource};
use super::patterns::PLACEHOLDER;
use base::model::envelope::Envelope;
use base::model::item::Item;
use base::{sanitize, secret};

const MAX_SEARCHED: usize = 2_000;
/// A known secret of this many bytes is meant even inside a longer word.
const UNMISTAKABLE: usize = 20;

#[derive(Debug)]
struct KnownSecret {
    secret: String,
    placeholder: String,
    kind: &'static str,
    /// Typed by the user in a message, so it may be written wherever they want.
    typed: bool,
    /// Long and random enough to be recognized without context.
    distinct: bool,
}

#[derive(Debug, Default)]
struct RedactorState {
    known: Vec<KnownSecret>,
    by_secret: HashMap<String, usize>,
    by_placeholder: HashMap<String, usize>,
    numbers: HashMap<String, u64>,
    own: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Redactor {
    state: Mutex<RedactorState>,
}

impl Redactor {
    pub fn redact<'a>(&self, text: &'a str, source: TextSource) -> Cow<'a, str> {
        self.redact_as(text, source, false)
    }

    pub fn redact_typed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_as(text, TextSource::Typed, true)
    }

    fn redact_as<'a>(&self, text: &'a str, source: TextSource, typed: bool) -> Cow<'a, str> {
        detector::replace(text, self.spans(text, source, typed))
    }

    /// The redacted text, and the original number (from 1) of the line on which each of its lines starts.
    pub fn redact_lines(&self, text: &str, source: TextSource) -> Option<(String, Vec<usize>)> {
        let spans = self.spans(text, source, false);
        if spans.is_empty() {
            return None;
        }
        let (mut numbers, mut line, mut at) = (vec![1], 1, 0);
        let rest = text.len()..text.len();
        for range in spans.iter().map(|(range, _)| range).chain([&rest]) {
            for _ in text[at..range.start].matches('\n') {
                line += 1;
                numbers.push(line);
            }
            line += text[range.clone()].matches('\n').count();
            at = range.end;
        }
        Some((detector::replace(text, spans).into_owned(), numbers))
    }

    /// Redacts the model's text and calls. Signed reasoning stays unchanged, or the server would refuse it.
    pub fn redact_reply(&self, item: &mut Item) {
        match item {
            Item::Assistant { text, .. } => self.redact_shared(text),
            Item::ToolCall(call) => {
                if let Cow::Owned(clean) = self.redact_args(&call.args) {
                    call.args = clean.into();
                }
            }
            _ => {}
        }
    }

    /// Returns `false` if redaction is impossible because a server signed or encrypted it.
    pub fn redact_reasoning(&self, item: &mut Item) -> bool {
        let Item::Reasoning(reasoning) = item else { return true };
        let Cow::Owned(clean) = self.redact(&reasoning.text, TextSource::Text) else { return true };
        // Plain text that is sent back under a field name isn't signed.
        let plain = match &reasoning.opaque {
            None => true,
            Some(opaque) => opaque["field"].is_string() && opaque.get("details").is_none(),
        };
        reasoning.text = clean.into();
        plain
    }

    fn redact_shared(&self, text: &mut Arc<str>) {
        if let Cow::Owned(clean) = self.redact(text, TextSource::Text) {
            *text = clean.into();
        }
    }

    /// Redacts every string in the JSON text, or the text itself if it isn't JSON.
    pub fn redact_args<'a>(&self, args: &'a str) -> Cow<'a, str> {
        let Ok(mut value) = serde_json::from_str::<Value>(args) else {
            return self.redact(args, TextSource::Text);
        };
        let source = source_of(|name| value.get(name));
        if self.redact_value(&mut value, source) {
            Cow::Owned(value.to_string())
        } else {
            Cow::Borrowed(args)
        }
    }

    pub fn redact_envelope(&self, envelope: &mut Envelope) {
        let mut facts = envelope.data.to_map();
        let source = source_of(|name| facts.get(name));
        let error = envelope.error.as_mut().map(|error| &mut error.message);
        for text in [&mut envelope.body, &mut envelope.text].into_iter().chain(error) {
            // Colors could part a secret; what is sent has none.
            let plain = sanitize::strip_escapes(text);
            if let Cow::Owned(clean) = self.redact(&plain, source) {
                *text = clean;
            }
        }
        if facts.values_mut().fold(false, |any, value| self.redact_value(value, source) | any) {
            envelope.data.replace(facts);
        }
    }

    fn redact_value(&self, value: &mut Value, source: TextSource) -> bool {
        match value {
            Value::String(text) => match self.redact(text, source) {
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
                Cow::Borrowed(_) => false,
            },
            Value::Array(values) => {
                values.iter_mut().fold(false, |any, value| self.redact_value(value, source) | any)
            }
            Value::Object(values) => {
                // In `{"password": "…"}`, name and value are separate strings but belong together.
                values.iter_mut().fold(false, |any, (name, value)| {
                    let joined = match value {
                        Value::String(text) if !text.contains(['"', '\n']) => {
                            let line = format!("{name}: \"{text}\"");
                            let clean = self.redact(&line, TextSource::Text);
                            let inner = clean
                                .strip_prefix(name.as_str())
                                .and_then(|rest| rest.strip_prefix(": \""))
                                .and_then(|rest| rest.strip_suffix('"'));
                            inner.filter(|inner| *inner != text.as_str()).map(str::to_owned)
                        }
                        _ => None,
                    };
                    match joined {
                        Some(clean) => {
                            *value = Value::String(clean);
                            true
                        }
                        None => self.redact_value(value, source) | any,
                    }
                })
            }
            _ => false,
        }
    }

    /// Puts secrets of `file` into an edit's `text`; `may_move`: also another file's. The error names a wrong placeholder.
    pub fn restore<'a>(
        &self,
        text: &'a str,
        file: &str,
        may_move: &dyn Fn(&str) -> bool,
    ) -> Result<Cow<'a, str>, String> {
        if !text.contains(PREFIX) {
            return Ok(Cow::Borrowed(text));
        }
        let state = self.lock();
        let mut spans = Vec::new();
        for found in PLACEHOLDER.find_iter(text) {
            let mark = found.as_str();
            let known = state.by_placeholder.get(mark).map(|index| &state.known[*index]);
            let is_here = |known: &&KnownSecret| known.typed || file.contains(&known.secret);
            let meant =
                known.filter(|known| is_here(known) || !file.contains(mark) && may_move(&known.secret));
            let refused = match (file.contains(mark), meant) {
                (true, None) => continue,
                (false, Some(known)) => {
                    spans.push((found.range(), &known.secret));
                    continue;
                }
                (true, Some(_)) => {
                    "can mean the text in the file or the secret that it stands for. Nothing was written; edit around it, \
                     or use Bash (sed)"
                }
                (false, None) if known.is_some() => {
                    "stands for a secret that is not in this file. Nothing was written; copy it with Bash from where it \
                     is, or ask the user to insert it"
                }
                (false, None) => {
                    "stands for no known secret. Nothing was written; Read the file again and quote what it shows"
                }
            };
            return Err(format!("{mark} {refused}"));
        }
        Ok(detector::replace(text, spans))
    }

    pub fn mentioned(&self, text: &str) -> Option<String> {
        let state = self.lock();
        let mut found = PLACEHOLDER.find_iter(text).map(|found| found.as_str());
        found.find(|placeholder| state.by_placeholder.contains_key(*placeholder)).map(str::to_owned)
    }

    /// Registers one of our own secrets, such as the API key; `clear` keeps it.
    pub fn know(&self, secret: &str) {
        if secret.len() >= 8 {
            let mut state = self.lock();
            state.placeholder(secret, "api-key", false);
            if !state.own.iter().any(|own| own == secret) {
                state.own.push(secret.to_owned());
            }
        }
    }

    /// Placeholders in `text` aren't reused, because an earlier process used them for other secrets.
    pub fn reserve(&self, text: &str) {
        let mut state = self.lock();
        for found in PLACEHOLDER.captures_iter(text) {
            let Some((kind, number)) = found.get(1).zip(found.get(2)) else { continue };
            let last = state.numbers.entry(kind.as_str().to_owned()).or_default();
            *last = (*last).max(number.as_str().parse().unwrap_or(0));
        }
    }

    /// Prepares for the next session: keeps only our own secrets.
    pub fn clear(&self) {
        let own = std::mem::take(&mut *self.lock()).own;
        own.iter().for_each(|secret| self.know(secret));
    }

    fn spans(&self, text: &str, source: TextSource, typed: bool) -> Vec<(Range<usize>, String)> {
        secret::tokens().iter().for_each(|token| self.know(token));
        let mut state = self.lock();
        let mut found = detector::find(text, source);
        for SecretSpan { range, kind } in &found {
            state.placeholder(&text[range.clone()], kind, typed);
        }
        for known in state.known.iter().filter(|known| known.distinct).take(MAX_SEARCHED) {
            for (start, _) in text.match_indices(&known.secret) {
                let range = start..start + known.secret.len();
                if range.len() >= UNMISTAKABLE || stands_alone(text, &range) {
                    found.push(SecretSpan { range, kind: known.kind });
                }
            }
        }
        let named = |SecretSpan { range, kind }: SecretSpan| {
            let placeholder = state.placeholder(&text[range.clone()], kind, typed);
            (range, placeholder)
        };
        detector::disjoint(found).into_iter().map(named).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RedactorState> {
        self.state.lock()
    }
}

impl RedactorState {
    fn placeholder(&mut self, secret: &str, kind: &'static str, typed: bool) -> String {
        if let Some(&index) = self.by_secret.get(secret) {
            self.known[index].typed |= typed;
            return self.known[index].placeholder.clone();
        }
        let number = self.numbers.entry(kind.to_owned()).or_default();
        *number += 1;
        let placeholder = format!("{PREFIX}:{kind}-{number}>");
        let index = self.known.len();
        let odd = secret.bytes().any(|b| b.is_ascii_digit());
        let distinct = secret.len() >= 8 && odd || secret.len() >= 14;
        self.known.push(KnownSecret {
            secret: secret.to_owned(),
            placeholder: placeholder.clone(),
            kind,
            typed,
            distinct,
        });
        self.by_secret.insert(secret.to_owned(), index);
        self.by_placeholder.insert(placeholder.clone(), index);
        if kind == "private-key" {
            // A page or a `head` may show part of a key without its first and last line.
            let lines: Vec<&str> = secret.lines().map(str::trim).filter(|line| line.len() >= 24).collect();
            for line in lines.into_iter().filter(|line| !line.starts_with("-----")) {
                self.placeholder(line, "private-key-line", typed);
            }
        }
        placeholder
    }
}

/// The source of the strings in a call or an answer, by the file or command that it names.
fn source_of<'a>(field: impl Fn(&str) -> Option<&'a Value>) -> TextSource {
    let text = |names: &str| names.split(' ').find_map(|name| field(name).and_then(Value::as_str));
    // Models use various names for the path and the command.
    let path = text("path file_path filePath file filename file_name target_file absolute_path");
    match (path, text("command cmd script")) {
        (Some(path), _) => TextSource::of_file(Path::new(path)),
        (None, Some(command)) => TextSource::of_command(command),
        (None, None) => TextSource::Text,
    }
}

/// Part of a longer word isn't the known secret.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inner = &text[range.clone()];
    let before = text[..range.start].chars().next_back().is_some_and(word) && inner.starts_with(word);
    let behind = text[range.end..].chars().next().is_some_and(word) && inner.ends_with(word);
    // In JSON text, `\n` before a word ends with a letter.
    !(before && !text[..range.start].ends_with("\\n") || behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_restored_only_in_their_file() {
        let redactor = Redactor::default();
        let file = "API_KEY=sk-a1B2a1B2a1B2a1B2a1B2\nx=1\n";
        let shown = redactor.redact(file, TextSource::Text);
        assert_eq!(shown, "API_KEY=<REDACTED:api-key-1>\nx=1\n");
        assert_eq!(
            redactor.redact("echo sk-a1B2a1B2a1B2a1B2a1B2", TextSource::Text),
            "echo <REDACTED:api-key-1>"
        );
        assert_eq!(
            redactor.redact("in_sk-a1B2a1B2a1B2a1B2a1B2sk-a1B2a1B2a1B2a1B2a1B2.txt", TextSource::Text),
            "in_<REDACTED:api-key-1><REDACTED:api-key-1>.txt"
        );
        assert_eq!(redactor.restore(&shown, file, &|_| false).as_deref(), Ok(file));
        assert!(redactor.restore("<REDACTED:api-key-1>", "other file", &|_| false).is_err());
        assert!(redactor.restore("<REDACTED:api-key-2>", file, &|_| false).is_err());
        assert!(redactor.restore("<REDACTED>", file, &|_| false).is_err());
        let literal = "const MARK: &str = \"<REDACTED:api-key-1>\";";
        assert_eq!(
            redactor.restore("<REDACTED:api-key-1>", literal, &|_| false).as_deref(),
            Ok("<REDACTED:api-key-1>")
        );
        assert!(
            redactor.restore("<REDACTED:api-key-1>", &format!("{literal}{file}"), &|_| false).is_err(),
            "two meanings"
        );
        redactor.redact_typed("use sk-a1B2a1B2a1B2a1B2a1B2");
        assert!(redactor.restore("K=<REDACTED:api-key-1>", "", &|_| false).is_ok(), "typed by the user");
    }

    #[test]
    fn reserved_numbers_are_skipped() {
        let redactor = Redactor::default();
        redactor.reserve("{\"text\":\"<REDACTED:password-3> <REDACTED:password-1>\"}");
        assert_eq!(
            redactor.redact("password: hunter2hunter2\n", TextSource::Text),
            "password: <REDACTED:password-4>\n"
        );
    }

    #[test]
    fn names_and_values_in_json() {
        let redactor = Redactor::default();
        let clean = redactor.redact_args(r#"{"password":"hunter2hunter2","n":1,"path":"a.rs"}"#).into_owned();
        assert_eq!(clean, r#"{"password":"<REDACTED:password-1>","n":1,"path":"a.rs"}"#);
        assert!(matches!(redactor.redact_args(r#"{ "path": "a.rs" }"#), Cow::Borrowed(_)));
        // In such a file every long value is a secret, whatever the model calls the path.
        for name in ["path", "file_path", "filePath", "target_file"] {
            let written = format!(r#"{{"{name}":".env","content":"SALT=Zq8vT2mW9xLr4KpB7nYd"}}"#);
            assert!(!redactor.redact_args(&written).contains("Zq8v"), "{name}");
        }
    }
}
