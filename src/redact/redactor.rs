//! The redaction boundary of one session: every secret that was met gets one placeholder, and an edit that quotes the
//! placeholder gets the real text back. The mapping lives in memory only; it is never written anywhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use regex::Regex;
use serde_json::Value;

use super::detector::{self, PREFIX, TextSource};
use crate::model::envelope::Envelope;
use crate::model::item::Item;

/// Known secrets that are looked for wherever they occur.
const SWEPT: usize = 2_000;

static MARKS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<REDACTED(?::([a-z-]+)-([0-9]{1,9}))?>").ok());

#[derive(Debug)]
struct KnownSecret {
    secret: String,
    mark: String,
    /// The user typed it into a message: it may be written where they want it.
    typed: bool,
    /// Long and odd enough to be recognized without what stood around it.
    distinct: bool,
}

#[derive(Debug, Default)]
struct RedactorState {
    known: Vec<KnownSecret>,
    by_secret: HashMap<String, usize>,
    by_mark: HashMap<String, usize>,
    numbers: HashMap<String, u64>,
    own: Vec<String>,
}

/// The vault.
#[derive(Debug, Default)]
pub struct Redactor {
    state: Mutex<RedactorState>,
}

impl Redactor {
    /// `text` with a placeholder for every secret; borrowed when there are none.
    pub fn redact<'a>(&self, text: &'a str, place: TextSource) -> Cow<'a, str> {
        self.redact_as(text, place, false)
    }

    /// The same for what the user typed.
    pub fn redact_typed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_as(text, TextSource::Typed, true)
    }

    fn redact_as<'a>(&self, text: &'a str, place: TextSource, typed: bool) -> Cow<'a, str> {
        let spans = self.spans(text, place, typed);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, mark) in spans {
            out.push_str(&text[at..range.start]);
            out.push_str(&mark);
            at = range.end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// The text with placeholders, and the line of the original on which each of its lines begins (from 1); `None` when
    /// there is no secret in it.
    pub fn redact_lines(&self, text: &str, place: TextSource) -> Option<(String, Vec<usize>)> {
        let spans = self.spans(text, place, false);
        if spans.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut numbers = vec![1];
        let mut line = 1;
        let mut at = 0;
        let mut copy = |part: &str, out: &mut String, line: &mut usize| {
            for c in part.chars() {
                out.push(c);
                if c == '\n' {
                    *line += 1;
                    numbers.push(*line);
                }
            }
        };
        for (range, mark) in spans {
            copy(&text[at..range.start], &mut out, &mut line);
            out.push_str(&mark);
            line += text[range.clone()].matches('\n').count();
            at = range.end;
        }
        copy(&text[at..], &mut out, &mut line);
        Some((out, numbers))
    }

    /// Takes secrets out of what the model said or called. Signed thinking stays as it is: it would be refused.
    pub fn redact_reply(&self, item: &mut Item) {
        match item {
            Item::Assistant { text } => self.redact_shared(text),
            Item::Reasoning(reasoning) if reasoning.opaque.is_none() => {
                self.redact_shared(&mut reasoning.text)
            }
            Item::ToolCall(call) => {
                if let Cow::Owned(clean) = self.redact_args(&call.args) {
                    call.args = clean.into();
                }
            }
            _ => {}
        }
    }

    fn redact_shared(&self, text: &mut Arc<str>) {
        if let Cow::Owned(clean) = self.redact(text, TextSource::Text) {
            *text = clean.into();
        }
    }

    /// A call's arguments: every string of the JSON text, or the text itself where it is none.
    pub fn redact_args<'a>(&self, args: &'a str) -> Cow<'a, str> {
        let Ok(mut value) = serde_json::from_str::<Value>(args) else {
            return self.redact(args, TextSource::Text);
        };
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let place = match (text("path").or_else(|| text("file_path")), text("command")) {
            (Some(path), _) => TextSource::of_file(Path::new(path)),
            (None, Some(command)) => TextSource::of_command(command),
            (None, None) => TextSource::Text,
        };
        if self.redact_value(&mut value, place) { Cow::Owned(value.to_string()) } else { Cow::Borrowed(args) }
    }

    /// Every part of an answer.
    pub fn redact_envelope(&self, envelope: &mut Envelope) {
        let text = |name: &str| envelope.data.get(name).and_then(Value::as_str);
        let place = match (text("path"), text("command")) {
            (Some(path), _) => TextSource::of_file(Path::new(path)),
            (None, Some(command)) => TextSource::of_command(command),
            (None, None) => TextSource::Text,
        };
        let clean = |text: &mut String, place: TextSource| {
            if let Cow::Owned(clean) = self.redact(text, place) {
                *text = clean;
            }
        };
        clean(&mut envelope.body, place);
        clean(&mut envelope.text, place);
        if let Some(error) = &mut envelope.error {
            clean(&mut error.message, place);
        }
        for value in envelope.data.values_mut() {
            self.redact_value(value, place);
        }
    }

    /// Every string in `value`; returns whether one was changed.
    fn redact_value(&self, value: &mut Value, place: TextSource) -> bool {
        match value {
            Value::String(text) => match self.redact(text, place) {
                Cow::Owned(clean) => {
                    *text = clean;
                    true
                }
                Cow::Borrowed(_) => false,
            },
            Value::Array(values) => {
                values.iter_mut().fold(false, |any, value| self.redact_value(value, place) | any)
            }
            Value::Object(values) => {
                // A name and its value are separate strings here, but belong together: `{"password": "…"}`.
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
                        None => self.redact_value(value, place) | any,
                    }
                })
            }
            _ => false,
        }
    }

    /// `text` of an edit with the real secrets in it, for a file that holds `file` now.
    ///
    /// # Errors
    /// A sentence for the model when a placeholder is unknown, belongs to another file, or could mean two things.
    pub fn restore<'a>(&self, text: &'a str, file: &str) -> Result<Cow<'a, str>, String> {
        let Some(marks) = MARKS.as_ref().filter(|_| text.contains(PREFIX)) else {
            return Ok(Cow::Borrowed(text));
        };
        let state = self.lock();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for found in marks.find_iter(text) {
            let mark = found.as_str();
            let known = state.by_mark.get(mark).map(|index| &state.known[*index]);
            let meant = known.filter(|known| known.typed || file.contains(&known.secret));
            out.push_str(&text[at..found.start()]);
            match (file.contains(mark), meant) {
                (true, None) => out.push_str(mark),
                (false, Some(known)) => out.push_str(&known.secret),
                (true, Some(_)) => {
                    return Err(format!(
                        "{mark} could be the text that stands in the file or the secret behind it. Nothing was \
                         written; edit around it, or use Bash (sed)"
                    ));
                }
                (false, None) if known.is_some() => {
                    return Err(format!(
                        "{mark} stands for a secret that is not in this file. Nothing was written; copy it with Bash \
                         from where it is, or ask the user to put it in"
                    ));
                }
                (false, None) => {
                    return Err(format!(
                        "{mark} stands for no secret known here. Nothing was written; Read the file again and quote \
                         what it shows"
                    ));
                }
            }
            at = found.end();
        }
        out.push_str(&text[at..]);
        Ok(Cow::Owned(out))
    }

    /// A placeholder of this session in `text`, if there is one.
    pub fn mentioned(&self, text: &str) -> Option<String> {
        let marks = MARKS.as_ref().filter(|_| text.contains(PREFIX))?;
        let state = self.lock();
        marks
            .find_iter(text)
            .map(|found| found.as_str().to_owned())
            .find(|mark| state.by_mark.contains_key(mark))
    }

    /// Takes up a secret of the program itself, such as its key: it stays known in every session.
    pub fn know(&self, secret: &str) {
        if secret.len() >= 8 {
            let mut state = self.lock();
            state.mark(secret, "api-key", false);
            state.own.push(secret.to_owned());
        }
    }

    /// Placeholders that stand in `text` are not given out again: an earlier process meant something else by them.
    pub fn reserve(&self, text: &str) {
        let Some(marks) = MARKS.as_ref().filter(|_| text.contains(PREFIX)) else { return };
        let mut state = self.lock();
        for caps in marks.captures_iter(text) {
            if let (Some(kind), Some(Ok(number))) =
                (caps.get(1), caps.get(2).map(|number| number.as_str().parse::<u64>()))
            {
                let last = state.numbers.entry(kind.as_str().to_owned()).or_default();
                *last = (*last).max(number);
            }
        }
    }

    /// Forgets everything but the program's own secrets: another session begins.
    pub fn clear(&self) {
        let own = std::mem::take(&mut *self.lock()).own;
        own.iter().for_each(|secret| self.know(secret));
    }

    fn spans(&self, text: &str, place: TextSource, typed: bool) -> Vec<(std::ops::Range<usize>, String)> {
        let found = detector::find(text, place);
        let mut state = self.lock();
        let mut spans: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for found in found {
            let mark = state.mark(&text[found.range.clone()], found.kind, typed);
            spans.push((found.range, mark));
        }
        let mut swept = Vec::new();
        for known in state.known.iter().filter(|known| known.distinct).take(SWEPT) {
            for (start, _) in text.match_indices(&known.secret) {
                let range = start..start + known.secret.len();
                let free =
                    |other: &std::ops::Range<usize>| other.end <= range.start || range.end <= other.start;
                if stands_alone(text, &range)
                    && spans.iter().all(|(other, _)| free(other))
                    && swept.iter().all(|(other, _): &(std::ops::Range<usize>, String)| free(other))
                {
                    swept.push((range, known.mark.clone()));
                }
            }
        }
        spans.append(&mut swept);
        spans.sort_by_key(|(range, _)| range.start);
        spans
    }

    fn lock(&self) -> MutexGuard<'_, RedactorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RedactorState {
    fn mark(&mut self, secret: &str, kind: &'static str, typed: bool) -> String {
        if let Some(&index) = self.by_secret.get(secret) {
            self.known[index].typed |= typed;
            return self.known[index].mark.clone();
        }
        let number = self.numbers.entry(kind.to_owned()).or_default();
        *number += 1;
        let mark = format!("{PREFIX}:{kind}-{number}>");
        let index = self.known.len();
        let odd = secret.bytes().any(|b| b.is_ascii_digit());
        let distinct = secret.len() >= 8 && odd || secret.len() >= 14;
        self.known.push(KnownSecret { secret: secret.to_owned(), mark: mark.clone(), typed, distinct });
        self.by_secret.insert(secret.to_owned(), index);
        self.by_mark.insert(mark.clone(), index);
        if kind == "private-key" {
            // A page or a `head` may show part of a key without its frame.
            let lines: Vec<&str> = secret.lines().map(str::trim).filter(|line| line.len() >= 24).collect();
            for line in lines.into_iter().filter(|line| !line.starts_with("-----")) {
                self.mark(line, "private-key-line", typed);
            }
        }
        mark
    }
}

/// Whether no letter or digit touches the range: a known secret inside a longer word is another word.
fn stands_alone(text: &str, range: &std::ops::Range<usize>) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inner = &text[range.clone()];
    let before = text[..range.start].chars().next_back().is_some_and(word) && inner.starts_with(word);
    let behind = text[range.end..].chars().next().is_some_and(word) && inner.ends_with(word);
    // In JSON text, `\n` before a word ends in a letter.
    !(before && !text[..range.start].ends_with("\\n") || behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_secret_has_one_placeholder_and_comes_back_only_into_its_file() {
        let vault = Redactor::default();
        let file = "API_KEY=sk-a1B2a1B2a1B2a1B2a1B2\nx=1\n";
        let shown = vault.redact(file, TextSource::Text);
        assert_eq!(shown, "API_KEY=<REDACTED:api-key-1>\nx=1\n");
        assert_eq!(
            vault.redact("echo sk-a1B2a1B2a1B2a1B2a1B2", TextSource::Text),
            "echo <REDACTED:api-key-1>"
        );
        assert_eq!(vault.restore(&shown, file).as_deref(), Ok(file));
        assert!(vault.restore("<REDACTED:api-key-1>", "other file").is_err());
        assert!(vault.restore("<REDACTED:api-key-2>", file).is_err());
        assert!(vault.restore("<REDACTED>", file).is_err());
        let literal = "const MARK: &str = \"<REDACTED:api-key-1>\";";
        assert_eq!(vault.restore("<REDACTED:api-key-1>", literal).as_deref(), Ok("<REDACTED:api-key-1>"));
        assert!(vault.restore("<REDACTED:api-key-1>", &format!("{literal}{file}")).is_err(), "two meanings");
        vault.redact_typed("use sk-a1B2a1B2a1B2a1B2a1B2");
        assert!(vault.restore("K=<REDACTED:api-key-1>", "").is_ok(), "typed by the user");
    }

    #[test]
    fn numbers_of_an_earlier_process_are_not_given_out_again() {
        let vault = Redactor::default();
        vault.reserve("{\"text\":\"<REDACTED:password-3> <REDACTED:password-1>\"}");
        assert_eq!(
            vault.redact("password: hunter2hunter2\n", TextSource::Text),
            "password: <REDACTED:password-4>\n"
        );
    }

    #[test]
    fn a_name_and_its_value_belong_together_in_json() {
        let vault = Redactor::default();
        let clean = vault.redact_args(r#"{"password":"hunter2hunter2","n":1,"path":"a.rs"}"#).into_owned();
        assert_eq!(clean, r#"{"password":"<REDACTED:password-1>","n":1,"path":"a.rs"}"#);
        assert!(matches!(vault.redact_args(r#"{ "path": "a.rs" }"#), Cow::Borrowed(_)));
    }
}
