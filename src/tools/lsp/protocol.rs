//! Converts the protocol's JSON to our types. Servers are sloppy, so invalid parts of a message are skipped. Facts:
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/>, 2026-11-22.

use std::path::{Path, PathBuf};

use base::system::os;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde_json::{Value, json};

const MOST: usize = 2_000;
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const CAPABILITIES: &str = include_str!("capabilities.json");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
    Hint,
}

/// Lines and columns are 0-based; columns are in the server's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub line: u32,
    pub column: u32,
    pub severity: Severity,
    pub message: String,
    pub code: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    pub path: PathBuf,
    pub line: u32,
    pub column: u32,
    /// The last line of the full item, if the server provides it.
    pub end_line: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Columns are in bytes instead of UTF-16 units.
    pub utf8: bool,
    /// Findings must be requested; otherwise the server pushes them.
    pub pull: bool,
    pub save: bool,
}

/// The parameters of `initialize`; they claim only what is implemented.
pub fn initialize(root: &Path, name: &str, options: &Value) -> Value {
    let root = uri(root);
    json!({
        "processId": null,
        "clientInfo": {"name": "mycode", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": name}],
        "initializationOptions": options,
        "capabilities": serde_json::from_str::<Value>(CAPABILITIES).unwrap_or_default(),
    })
}

pub fn abilities(answer: &Value) -> Abilities {
    let offered = &answer["capabilities"];
    let sync = &offered["textDocumentSync"];
    Abilities {
        utf8: offered["positionEncoding"] == "utf-8",
        pull: offered["diagnosticProvider"].is_object(),
        save: sync.is_u64() || !matches!(sync["save"], Value::Null | Value::Bool(false)),
    }
}

/// Whether a dynamic registration requires us to request findings.
pub fn registers_pull(params: &Value) -> bool {
    let all = params["registrations"].as_array().into_iter().flatten();
    all.into_iter().any(|one| one["method"] == "textDocument/diagnostic")
}

pub fn did_open(path: &Path, language: &str, version: i32, text: &str) -> Value {
    json!({"textDocument": {"uri": uri(path), "languageId": language, "version": version, "text": text}})
}

pub fn did_change(path: &Path, version: i32, text: &str) -> Value {
    json!({"textDocument": {"uri": uri(path), "version": version}, "contentChanges": [{"text": text}]})
}

pub fn did_save(path: &Path, text: &str) -> Value {
    json!({"textDocument": {"uri": uri(path)}, "text": text})
}

/// Parameters for `didClose` and `diagnostic`.
pub fn of_file(path: &Path) -> Value {
    json!({"textDocument": {"uri": uri(path)}})
}

pub fn files_changed(path: &Path) -> Value {
    json!({"changes": [{"uri": uri(path), "type": 2}]})
}

/// A position in a file; for `references`, the definition is included.
pub fn at(path: &Path, line: u32, column: u32) -> Value {
    json!({
        "textDocument": {"uri": uri(path)},
        "position": {"line": line, "character": column},
        "context": {"includeDeclaration": true}
    })
}

pub fn configuration(params: &Value, settings: &Value) -> Value {
    let items = params["items"].as_array().into_iter().flatten();
    let answer = items.map(|item| match item["section"].as_str() {
        Some(section) => section.split('.').fold(settings, |at, name| &at[name]).clone(),
        None => settings.clone(),
    });
    Value::Array(answer.collect())
}

/// Whether findings may change with this progress: not with clangd's background index or rust-analyzer's cache.
pub fn is_awaited(token: &str) -> bool {
    !["backgroundIndex", "cachePriming"].iter().any(|name| token.contains(name))
}

/// Pushed findings of a file, with their version if given.
pub fn published(params: &Value) -> Option<(PathBuf, Option<i64>, Vec<Finding>)> {
    let path = path_of(params["uri"].as_str()?)?;
    Some((path, params["version"].as_i64(), findings(&params["diagnostics"])))
}

/// Requested findings; `None` if unchanged.
pub fn pulled(answer: &Value) -> Option<Vec<Finding>> {
    (answer["kind"] != "unchanged").then(|| findings(&answer["items"]))
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten().take(MOST)
}

/// Plain text, or the text of a markup object.
fn text(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["value"].as_str())
}

fn position(at: &Value) -> Option<(u32, u32)> {
    let number = |name: &str| u32::try_from(at[name].as_u64()?).ok();
    Some((number("line")?, number("character")?))
}

fn findings(list: &Value) -> Vec<Finding> {
    let finding = |one: &Value| {
        let (line, column) = position(&one["range"]["start"])?;
        let severity = match one["severity"].as_u64() {
            None | Some(1) => Severity::Error,
            Some(2) => Severity::Warning,
            Some(_) => Severity::Hint,
        };
        let code = match &one["code"] {
            Value::Number(number) => Some(number.to_string()),
            name => name.as_str().map(str::to_owned),
        };
        Some(Finding { line, column, severity, message: text(&one["message"])?.to_owned(), code })
    };
    each(list).filter_map(finding).collect()
}

fn place(uri: &Value, name: &Value, whole: &Value) -> Option<CodePlace> {
    let (line, column) = position(&name["start"])?;
    let (end_line, _) = position(&whole["end"])?;
    Some(CodePlace { path: path_of(uri.as_str()?)?, line, column, end_line })
}

fn located(at: &Value) -> Option<CodePlace> {
    match at.get("targetUri") {
        Some(uri) => place(uri, &at["targetSelectionRange"], &at["targetRange"]),
        None => place(&at["uri"], &at["range"], &at["range"]),
    }
}

pub fn places(answer: Value) -> Vec<CodePlace> {
    let list = if answer.is_object() { json!([answer]) } else { answer };
    let mut places: Vec<CodePlace> = each(&list).filter_map(located).collect();
    places.sort();
    places.dedup_by(|a, b| (&a.path, a.line) == (&b.path, b.line));
    places
}

/// Where the workspace's symbols with exactly this name are.
pub fn places_of(name: &str, answer: &Value) -> Vec<CodePlace> {
    let is_it =
        |symbol: &&Value| text(&symbol["name"]).is_some_and(|known| known.trim_end_matches("()") == name);
    each(answer).filter(is_it).filter_map(|symbol| located(&symbol["location"])).collect()
}

pub fn hover(answer: &Value) -> Option<String> {
    let told = match &answer["contents"] {
        Value::Array(parts) => parts.iter().filter_map(text).collect::<Vec<_>>().join("\n"),
        part => text(part)?.to_owned(),
    };
    let is_fence = |line: &&str| line.trim_start().starts_with("```") || line.trim() == "---";
    let lines: Vec<&str> = told.lines().filter(|line| !is_fence(line)).collect();
    Some(lines.join("\n").trim().to_owned()).filter(|text| !text.is_empty())
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    Some(os::path_of(percent_decode_str(&rest[rest.find('/')?..]).collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed() {
        let greeting = initialize(Path::new("/w"), "w", &Value::Null);
        assert_eq!(greeting["capabilities"]["window"]["workDoneProgress"], true);
    }

    #[test]
    fn addresses() {
        for path in ["/w/a b.rs", "/w/ä#?%41.py", "/w/[id].ts"] {
            assert_eq!(path_of(&uri(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(uri(Path::new("/w/a b")), "file:///w/a%20b");
        assert_eq!(path_of("file://host/w/a"), Some(PathBuf::from("/w/a")));
        for bad in ["untitled:x", "file://"] {
            assert_eq!(path_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_wrong_piece_is_left_out() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}});
        let good = json!({"range": range, "severity": 2, "message": "m", "code": 7});
        let odd = json!({"range": range, "severity": 9, "message": {"kind": "markdown", "value": "n"}});
        let list = json!([good, {"message": "no range"}, 3, odd]);
        let (path, version, found) =
            published(&json!({"uri": "file:///w/a", "version": 4, "diagnostics": list})).unwrap();
        assert_eq!((path, version, found.len()), (PathBuf::from("/w/a"), Some(4), 2));
        assert_eq!((found[0].severity, found[0].code.as_deref()), (Severity::Warning, Some("7")));
        assert_eq!((found[1].severity, found[1].message.as_str()), (Severity::Hint, "n"));
        assert!(published(&json!({"uri": 3})).is_none());
        assert_eq!(pulled(&json!({"kind": "unchanged"})), None);
    }

    #[test]
    fn all_forms_of_places_and_hovers() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 5, "character": 3}});
        let at = json!({"uri": "file:///w/a", "range": range});
        let link = json!({"targetUri": "file:///w/a", "targetRange": range, "targetSelectionRange": range});
        let expected = CodePlace { path: "/w/a".into(), line: 1, column: 2, end_line: 5 };
        for answer in [at.clone(), json!([at]), json!([link]), json!([at, link])] {
            assert_eq!(places(answer), std::slice::from_ref(&expected));
        }
        assert_eq!(places(Value::Null), []);
        for contents in [
            json!("x: int"),
            json!({"language": "py", "value": "x: int"}),
            json!(["", "x: int"]),
            json!({"kind": "markdown", "value": "```py\nx: int\n```"}),
        ] {
            assert_eq!(hover(&json!({"contents": contents})).as_deref(), Some("x: int"));
        }
        assert_eq!(hover(&Value::Null), None);
        let symbols = json!([{"name": "f()", "kind": 12, "location": at}, {"name": "g", "location": at}]);
        assert_eq!(places_of("f", &symbols), [expected]);
    }
}
