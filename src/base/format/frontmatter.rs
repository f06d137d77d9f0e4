//! The block between `---` lines at the top of notes, sub-agents, commands, skills and rules. A library
//! parses it; changes are made line by line, so that unknown keys, comments and formatting are preserved byte for
//! byte. Every change is parsed again before it counts.

use std::ops::Range;

use serde_json::{Map, Value};

/// Larger front matter is treated as the body.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Parse events allowed, including repeated ones.
const MAX_EVENTS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteParts<'a> {
    /// The text between the fences, with line ends; `None` without front matter.
    pub head: Option<&'a str>,
    pub body: &'a str,
}

/// An unclosed `---` is an ordinary line.
pub fn split(text: &str) -> NoteParts<'_> {
    let none = NoteParts { head: None, body: text };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return none };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return NoteParts { head: Some(&text[first.len()..at]), body: &text[at + line.len()..] };
        }
        at += line.len();
        if at > MAX_HEAD_BYTES {
            break;
        }
    }
    none
}

pub fn read(head: &str) -> Result<Map<String, Value>, String> {
    if head.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(Map::new());
    }
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    options.with_snippet = false;
    // A checkout may contain a file made to exhaust memory or time.
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = MAX_EVENTS;
    budget.max_recorded_anchor_events = MAX_EVENTS;
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_EVENTS;
    match serde_saphyr::from_str_with_options::<Value>(head, options) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("it is not a list of `key: value` lines".to_owned()),
        Err(error) => Err(crate::text::one_line(&error.to_string(), 160)),
    }
}

/// For other programs' files: an entry that isn't valid YAML (`**/*.rs`) becomes text, with the indented lines below it.
pub fn read_lenient(head: &str) -> Result<Map<String, Value>, String> {
    read(head).or_else(|why| {
        let mut entries: Vec<String> = Vec::new();
        for line in head.lines() {
            match entries.last_mut().filter(|_| line.starts_with([' ', '\t']) || line.trim().is_empty()) {
                Some(entry) => entry.push_str(&format!("\n{line}")),
                None => entries.push(line.to_owned()),
            }
        }
        let plain: String = entries.iter().map(|entry| as_text(entry)).collect();
        read(&plain).map_err(|_| why)
    })
}

/// An entry, with its value quoted if it isn't valid YAML.
fn as_text(entry: &str) -> String {
    let has_key = entry.lines().next().and_then(key_of).is_some();
    match entry.split_once(':').filter(|_| has_key && read(entry).is_err()) {
        Some((key, value)) => {
            let words: Vec<&str> = value.split_whitespace().collect();
            format!("{key}: {}\n", Value::from(words.join(" ")))
        }
        None => format!("{entry}\n"),
    }
}

/// A value as text: numbers and dates as written, not as parsed.
pub fn text_of(head: &str, map: &Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(written(head, key).unwrap_or_else(|| number.to_string())),
        Value::Bool(truth) => Some(written(head, key).unwrap_or_else(|| truth.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A list as texts; a single text is a list of one, or is split at commas.
pub fn list_of(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        // Unquoted `[[id]]` is a list in a list.
        Value::Array(inner) => inner.first().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    match map.get(key) {
        Some(Value::Array(values)) => values.iter().filter_map(one).filter(|text| !text.is_empty()).collect(),
        Some(Value::String(text)) => {
            text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        }
        Some(other) => one(other).into_iter().collect(),
        None => Vec::new(),
    }
}

pub fn written(head: &str, key: &str) -> Option<String> {
    let line = head.lines().find(|line| key_of(line) == Some(key))?;
    let value = line.split_once(':')?.1;
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Sets these keys and preserves everything else. Adds front matter if there is none.
pub fn set(text: &str, changes: &[(&str, Value)]) -> Result<String, String> {
    let end = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let parts = split(text);
    let Some(head) = parts.head else {
        let lines: String =
            changes.iter().map(|(key, value)| format!("{}{end}", line_of(key, value))).collect();
        let gap = if text.is_empty() || text.starts_with(['\r', '\n']) { "" } else { end };
        return Ok(format!("---{end}{lines}---{end}{gap}{text}"));
    };
    let before = read(head)?;
    let mut new_head = head.to_owned();
    for (key, value) in changes {
        if before.get(*key) != Some(value) {
            set_one(&mut new_head, key, value, end);
        }
    }
    let after = read(&new_head).map_err(|why| format!("its format is unusual: {why}"))?;
    let mut wanted = before;
    for (key, value) in changes {
        wanted.insert((*key).to_owned(), value.clone());
    }
    let same = after.len() == wanted.len() && wanted.iter().all(|(key, value)| after.get(key) == Some(value));
    if !same {
        return Err("its format is unusual".to_owned());
    }
    let head_at = text.find('\n').map_or(0, |at| at + 1);
    Ok(format!("{}{new_head}{}", &text[..head_at], &text[head_at + head.len()..]))
}

fn set_one(head: &mut String, key: &str, value: &Value, end: &str) {
    if let Some(place) = entry(head, key) {
        let comment = comment_of(&head[place.clone()]);
        let line = format!("{}{comment}{end}", line_of(key, value));
        head.replace_range(place, &line);
    } else {
        if !head.is_empty() && !head.ends_with('\n') {
            head.push_str(end);
        }
        head.push_str(&line_of(key, value));
        head.push_str(end);
    }
}

/// The key's line and the lines below that belong to it. If a key is repeated, the last one counts.
fn entry(head: &str, key: &str) -> Option<Range<usize>> {
    let mut found: Option<Range<usize>> = None;
    let (mut at, mut open) = (0, false);
    for line in head.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if key_of(line) == Some(key) {
            found = Some(start..at);
            open = true;
        } else if !line.trim().is_empty() {
            open &= line.starts_with([' ', '\t', '-', ']', '}']);
            if let Some(place) = found.as_mut().filter(|_| open) {
                place.end = at;
            }
        }
    }
    found
}

fn key_of(line: &str) -> Option<&str> {
    let line = line.trim_end();
    if line.starts_with([' ', '\t', '#', '-', '{', '[']) {
        return None;
    }
    let at = line.match_indices(':').map(|(at, _)| at).find(|at| {
        let rest = &line[at + 1..];
        rest.is_empty() || rest.starts_with([' ', '\t'])
    })?;
    let key = line[..at].trim_end();
    let quoted = |quote: char| key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
    Some(quoted('"').or_else(|| quoted('\'')).unwrap_or(key))
}

/// The trailing comment of a plain `key: value # comment` line, with the blanks before it.
fn comment_of(entry: &str) -> String {
    let line = entry.trim_end();
    match line.split_once(" #") {
        Some((value, comment)) if !line.contains(['"', '\'', '\n']) => {
            format!("{} #{comment}", &value[value.trim_end().len()..])
        }
        _ => String::new(),
    }
}

fn line_of(key: &str, value: &Value) -> String {
    let value = match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| scalar(value, "[", "]")).collect();
            format!("[{}]", values.join(", "))
        }
        value => scalar(value, "", ""),
    };
    format!("{key}: {value}")
}

/// A scalar: plain if the parser reads it back unchanged, otherwise in JSON quotes, which are valid YAML.
fn scalar(value: &Value, open: &str, close: &str) -> String {
    let Value::String(text) = value else { return value.to_string() };
    // Older parsers read these as true and false.
    let truth = ["yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    let list = if open.is_empty() { value.clone() } else { Value::from([value.clone()]) };
    let read_back = read(&format!("x: {open}{text}{close}\n"));
    if !truth && read_back.is_ok_and(|map| map.get("x") == Some(&list) && map.len() == 1) {
        text.clone()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const HAND_MADE: &str = "---\n# mine\nid:   abc\ntags:\n- one\n- two\n\nmood: {a: 1, b: [x]}   # odd\ntitle: 'It''s'\ntype: gotcha  # really\n---\nBody\n";

    #[test]
    fn only_what_changes_is_written() {
        let text = set(HAND_MADE, &[("tags", json!(["x", "y: z"])), ("type", json!("blocker"))]).unwrap();
        insta::assert_snapshot!(text, @r#"
        ---
        # mine
        id:   abc
        tags: [x, "y: z"]

        mood: {a: 1, b: [x]}   # odd
        title: 'It''s'
        type: blocker  # really
        ---
        Body
        "#);
        let crlf = HAND_MADE.replace('\n', "\r\n");
        let text = set(&crlf, &[("status", json!("done"))]).unwrap();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        assert!(text.contains("# really\r\nstatus: done\r\n---\r\nBody\r\n"));
    }

    #[test]
    fn unsafe_changes_are_refused() {
        for odd in ["---\n{id: a, title: b}\n---\n", "---\ntitle: \"a\nb: c\"\nx: [1,\n2]\n---\n"] {
            let text = set(odd, &[("title", json!("new"))]);
            assert!(text.is_err(), "{text:?}");
        }
        assert!(set("---\na: [\n---\n", &[("title", json!("new"))]).is_err());
    }

    #[test]
    fn front_matter_fences() {
        assert_eq!(split("---\nno end\n").head, None);
        assert_eq!(split("text\n---\n").head, None);
        assert_eq!(split("---\n---\nx").head, Some(""));
        assert_eq!(split("---\r\na: 1\r\n...\r\nx").body, "x");
        assert_eq!(set("plain\n", &[("title", json!("T"))]).unwrap(), "---\ntitle: T\n---\n\nplain\n");
    }

    #[test]
    fn alias_bombs_are_refused() {
        let mut head = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let refs = vec![format!("*a{}", level - 1); 9].join(", ");
            head.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
        }
        assert!(read(&head).is_err());
        assert!(read(&"[".repeat(50_000)).is_err());
    }

    #[test]
    fn what_is_no_yaml_is_text() {
        let head = "name: x\ndescription: Use when: asked\nglobs: **/*.rs, *.toml\nalwaysApply: false\n";
        assert!(read(head).is_err());
        let map = read_lenient(head).unwrap();
        assert_eq!(map["description"], "Use when: asked");
        assert_eq!(list_of(&map, "globs"), ["**/*.rs", "*.toml"]);
        assert_eq!(map["alwaysApply"], false);
        assert!(read_lenient("a: [\nb\n").is_err());
        let lines = "description: Use this when: asked\n  for more: or less\nmetadata:\n\tauthor: me\nlist:\n- a\n- b\n";
        let map = read_lenient(lines).unwrap();
        assert_eq!(map["description"], "Use this when: asked for more: or less");
        assert_eq!(map["metadata"], "author: me");
        assert_eq!(list_of(&map, "list"), ["a", "b"]);
    }

    #[test]
    fn values_are_taken_as_written() {
        let head = "id: 007\ntitle: 1.10 # x\ntags: [2024, yes, a b]\nlinks: one, two\n";
        let map = read(head).unwrap();
        assert_eq!(text_of(head, &map, "id").as_deref(), Some("007"));
        assert_eq!(text_of(head, &map, "title").as_deref(), Some("1.10"));
        assert_eq!(list_of(&map, "links"), ["one", "two"]);
        assert_eq!(list_of(&map, "tags").len(), 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn set_round_trip(title in "\\PC{1,40}", tags in proptest::collection::vec("[a-z:#, \\-'\"日é]{1,8}", 0..4)) {
            let changes = [("title", json!(title)), ("tags", json!(tags))];
            for base in ["", "body\n", HAND_MADE] {
                let text = set(base, &changes).unwrap();
                let head = split(&text).head.unwrap().to_owned();
                let map = read(&head).unwrap();
                prop_assert_eq!(&map["title"], &json!(title));
                prop_assert_eq!(&map["tags"], &json!(tags));
            }
        }
    }
}
