//! Converts arguments that ours express differently (`@` names in the table): line ranges, seconds, file types.

use ignore::types::TypesBuilder;
use serde_json::{Map, Value, json};

use super::coerce::{kind, number, truth};
use super::ignored::Ignored;
use crate::file::patch::{foreign, parse};
use base::pattern::Pattern;

type Arguments = Map<String, Value>;

/// Stands for "to the end of the file": as much as a page can show.
const TO_THE_END: u64 = 2_000;

pub(super) fn translate(tool: &str, args: &mut Arguments, ignored: &mut Ignored) -> Result<(), String> {
    match tool {
        "Read" => lines(args)?,
        "Edit" | "MultiEdit" if args.contains_key("patch") => patch(args),
        "Edit" => one_edit(args),
        "MultiEdit" if args.contains_key("old_string") => one_edit(args),
        "Bash" => {
            command_line(args);
            timeout(args, ignored);
        }
        "Grep" => grep(args, ignored),
        "TodoWrite" => todos(args),
        "AskUser" if !args.contains_key("questions") => {
            if let Some(question) = args.remove("question") {
                let options = args.remove("options").unwrap_or_else(|| json!([]));
                args.insert("questions".to_owned(), json!([{"question": question, "options": options}]));
            }
        }
        _ => {}
    }
    Ok(())
}

/// `view_range: [a, b]` (-1 is the end) or a last line becomes `start_line` and `limit`.
fn lines(args: &mut Arguments) -> Result<(), String> {
    let whole = args.remove("@whole").as_ref().and_then(truth) == Some(true);
    let range = args.remove("@range").map(|range| (numbers(&range), range));
    let mut end = args.remove("@end").as_ref().and_then(number);
    match range {
        _ if whole => args.retain(|key, _| key != "start_line" && key != "limit"),
        Some((numbers, given)) if numbers.len() == 1 && !given.is_array() => {
            args.entry("limit").or_insert(json!(numbers[0]));
        }
        Some((numbers, _)) if matches!(numbers.as_slice(), [_] | [_, _]) => {
            args.insert("start_line".to_owned(), json!(numbers[0].max(1.0) as u64));
            end = numbers.get(1).copied();
        }
        Some((_, given)) => {
            return Err(format!("a range of lines is [first, last], not {}", kind(&given)));
        }
        None => {}
    }
    let Some(end) = end.filter(|_| !whole) else { return Ok(()) };
    let first = args.get("start_line").and_then(number).unwrap_or(1.0).max(1.0);
    if end < 0.0 {
        args.entry("limit").or_insert(json!(TO_THE_END));
    } else if end < first {
        return Err(format!("the last line {end} is before the first line {first}"));
    } else {
        args.entry("limit").or_insert(json!((end - first) as u64 + 1));
    }
    Ok(())
}

/// A dash right after a number marks a range, not a sign.
static NUMBER: Pattern = Pattern::new(r"(?:^|[^0-9])(-?[0-9]+)");

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().map_while(number).collect(),
        Value::String(text) => NUMBER.captures_iter(text).filter_map(|found| found[1].parse().ok()).collect(),
        other => number(other).into_iter().collect(),
    }
}

/// Plain strings become open todos, and other agents' words for a status become ours.
fn todos(args: &mut Arguments) {
    let Some(given) = args.get_mut("todos") else { return };
    if let Some(text) = given.as_str() {
        *given = serde_json::from_str(text).unwrap_or_else(|_| text.lines().filter_map(listed).collect());
    }
    for todo in given.as_array_mut().into_iter().flatten() {
        if let Some(text) = todo.as_str() {
            *todo = json!({"content": text, "status": "pending"});
        }
        let Some(todo) = todo.as_object_mut() else { continue };
        let is_done =
            ["done", "completed"].iter().any(|key| todo.remove(*key).as_ref().and_then(truth) == Some(true));
        let state = todo.remove("state").filter(|_| !is_done);
        let status =
            todo.entry("status").or_insert(state.unwrap_or(json!(if is_done { "done" } else { "pending" })));
        let word = status.as_str().unwrap_or_default().to_lowercase().replace([' ', '-'], "_");
        let ours = match word.as_str() {
            "todo" | "open" | "not_started" | "new" | "" => "pending",
            "doing" | "active" | "started" | "current" | "inprogress" => "in_progress",
            "done" | "complete" | "finished" => "completed",
            "canceled" | "skipped" | "dropped" => "cancelled",
            _ => continue,
        };
        *status = json!(ours);
    }
}

/// `1. Read the file` or `- [x] Read the file`.
fn listed(line: &str) -> Option<Value> {
    static MARK: Pattern = Pattern::new(r"^\s*(?:[-*•]|\d+[.)])?\s*(?:\[(?P<mark>.)\]\s*)?(?P<text>\S.*)$");
    let found = MARK.captures(line)?;
    let is_done = found.name("mark").is_some_and(|mark| mark.as_str() != " ");
    Some(json!({"content": &found["text"], "done": is_done}))
}

/// Sets `path` to the patch's first file, because hooks expect it there.
fn patch(args: &mut Arguments) {
    let path = args.get("path").and_then(Value::as_str);
    let ours = args["patch"].as_str().and_then(|patch| foreign::as_v4a(patch, path));
    args.extend(ours.map(|patch| ("patch".to_owned(), patch.into())));
    let files = args["patch"].as_str().and_then(|patch| parse::parse(patch).ok()).unwrap_or_default();
    let first = files.first().and_then(|file| file.paths().next()).unwrap_or_default();
    args.insert("path".to_owned(), first.into());
    args.insert("edits".to_owned(), json!([]));
}

fn one_edit(args: &mut Arguments) {
    if args.contains_key("edits") {
        return;
    }
    let edit: Arguments = ["old_string", "new_string", "replace_all"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), args.remove(key)?)))
        .collect();
    args.insert("edits".to_owned(), json!([edit]));
}

/// `["bash", "-lc", "make"]` becomes `make`; any other words become one command.
fn command_line(args: &mut Arguments) {
    let Some(Value::Array(words)) = args.get("command") else { return };
    let Some(words) = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>() else { return };
    let line = match words.as_slice() {
        [shell, flag, script]
            if matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh")) && flag.starts_with('-') =>
        {
            (*script).to_owned()
        }
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    };
    args.insert("command".to_owned(), line.into());
}

pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// `timeout` is seconds in some tools, milliseconds in others. It means seconds below 1,000 and for round
/// values from ten minutes to two hours that aren't multiples of 1,000 (1,200, 1,800, 3,600, …), otherwise
/// milliseconds. An explicit unit wins.
fn timeout(args: &mut Arguments, ignored: &mut Ignored) {
    let value = args.remove("@timeout");
    let given = value.as_ref().and_then(|value| {
        let text = value.as_str().map(|text| text.trim().to_lowercase()).unwrap_or_default();
        if let Some(ms) = text.strip_suffix("ms") {
            return ms.trim().parse().ok();
        }
        if let Some(seconds) = text.trim_end_matches("econds").trim_end_matches("ec").strip_suffix('s') {
            return seconds.trim().parse().ok().map(|seconds: f64| seconds * 1000.0);
        }
        number(value).map(|given| if means_seconds(given) { given * 1000.0 } else { given })
    });
    let seconds = args.remove("@seconds").as_ref().and_then(number).map(|seconds| seconds * 1000.0);
    if let (Some(value), None) = (value, given) {
        ignored.add(format!("timeout={}", kind(&value)));
    }
    // Some models use zero or less for no limit.
    if let Some(ms) = given.or(seconds).filter(|ms| *ms > 0.0) {
        args.entry("timeout_ms").or_insert(json!(ms.ceil() as u64));
    }
}

fn means_seconds(given: f64) -> bool {
    given < 1_000.0 || given <= 7_200.0 && given % 600.0 == 0.0 && given % 1_000.0 != 0.0
}

fn grep(args: &mut Arguments, ignored: &mut Ignored) {
    let flag = |args: &mut Arguments, key: &str| args.remove(key).as_ref().and_then(truth);
    if let Some(sensitive) = flag(args, "@case_sensitive") {
        args.entry("ignore_case").or_insert(json!(!sensitive));
    }
    // Our context applies to both sides, so use the larger value.
    let sides = [args.remove("@before"), args.remove("@after"), args.get("context").cloned()];
    let most = sides.iter().flatten().filter_map(number).fold(0.0, f64::max);
    if most > 0.0 {
        args.insert("context".to_owned(), json!(most as u64));
    }
    for (key, mode) in [("@names_only", "files_with_matches"), ("@counts_only", "count")] {
        if flag(args, key) == Some(true) {
            args.entry("output_mode").or_insert(json!(mode));
        }
    }
    let literal = flag(args, "@literal") == Some(true) || flag(args, "@regex") == Some(false);
    let word = flag(args, "@word") == Some(true);
    if let Some(Value::String(pattern)) = args.get_mut("pattern") {
        if literal {
            *pattern = regex::escape(pattern);
        }
        if word {
            *pattern = format!(r"\b(?:{pattern})\b");
        }
    }
    args.remove("@as_always");
    if let Some(kind) = args.remove("@type") {
        match kind.as_str().and_then(file_type) {
            Some(globs) if !args.contains_key("include") => {
                args.insert("include".to_owned(), globs.into());
            }
            _ => ignored.add("type"),
        }
    }
}

/// The glob for a ripgrep file type, such as `{*.py,*.pyi}`.
fn file_type(name: &str) -> Option<String> {
    let name = name.trim().trim_start_matches('.').to_lowercase();
    let known = TypesBuilder::new().add_defaults().definitions();
    let globs = known.iter().find(|known| known.name() == name).map(|known| known.globs().join(","));
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    globs.map(|globs| format!("{{{globs}}}")).or_else(|| plain.then(|| format!("*.{name}")))
}
