//! Converts the protocol's JSON to this folder's types; the only file that uses the protocol crate
//! (gen-lsp-types, generated from the protocol's model, 3.18). Servers are inexact, so invalid pieces of a
//! message are skipped. Facts:
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/>, 2026-11-22.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use gen_lsp_types as lsp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const MOST: usize = 2_000;
const CAPABILITIES: &str = include_str!("capabilities.json");

/// Worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
    Hint,
}

/// Lines and columns are 0-based, columns in the server's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub line: u32,
    pub column: u32,
    pub severity: Severity,
    pub message: String,
    pub code: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub path: PathBuf,
    pub line: u32,
    pub column: u32,
    /// The last line of the full item, if the server provides it.
    pub end_line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: String,
    pub place: Place,
    pub depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Columns are bytes; otherwise UTF-16 units.
    pub utf8: bool,
    /// Findings must be requested; otherwise the server pushes them.
    pub pull: bool,
    pub save: bool,
}

/// The parameters of `initialize`, claiming only what is implemented.
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

/// Whether a dynamic registration asks us to pull findings.
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

/// For `didClose`, `documentSymbol` and `diagnostic`.
pub fn of_file(path: &Path) -> Value {
    json!({"textDocument": {"uri": uri(path)}})
}

pub fn files_changed(path: &Path) -> Value {
    json!({"changes": [{"uri": uri(path), "type": 2}]})
}

/// A position in a file; `references` then include the definition itself.
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

/// Whether findings may change with this progress: not for clangd's background index or rust-analyzer's cache.
pub fn is_awaited(token: &str) -> bool {
    !["backgroundIndex", "cachePriming"].iter().any(|name| token.contains(name))
}

/// Pushed findings of a file, with the version they refer to if given.
pub fn published(mut params: Value) -> Option<(PathBuf, Option<i64>, Vec<Finding>)> {
    let path = path_of(params["uri"].as_str()?)?;
    let version = params["version"].as_i64();
    Some((path, version, findings(params["diagnostics"].take())))
}

/// Findings that were requested; `None` if unchanged.
pub fn pulled(mut answer: Value) -> Option<Vec<Finding>> {
    let items = answer.get_mut("items").map(Value::take);
    (answer["kind"] != "unchanged").then(|| findings(items.unwrap_or_default()))
}

fn each<T: DeserializeOwned>(list: Value) -> impl Iterator<Item = T> {
    let list = match list {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    list.into_iter().take(MOST).filter_map(one)
}

fn one<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn findings(list: Value) -> Vec<Finding> {
    let finding = |one: lsp::Diagnostic| Finding {
        line: one.range.start.line,
        column: one.range.start.character,
        severity: match one.severity {
            None | Some(lsp::DiagnosticSeverity::Error) => Severity::Error,
            Some(lsp::DiagnosticSeverity::Warning) => Severity::Warning,
            Some(_) => Severity::Hint,
        },
        message: match one.message {
            lsp::Message::String(text) => text,
            lsp::Message::MarkupContent(markup) => markup.value,
        },
        code: one.code.map(|code| match code {
            lsp::Code::Int(number) => number.to_string(),
            lsp::Code::String(name) => name,
        }),
    };
    each(list).map(finding).collect()
}

fn place(uri: &lsp::Uri, name: lsp::Range, whole: lsp::Range) -> Option<Place> {
    let (line, column) = (name.start.line, name.start.character);
    Some(Place { path: path_of(&uri.0)?, line, column, end_line: whole.end.line })
}

pub fn places(answer: Value) -> Vec<Place> {
    let list = if answer.is_object() { json!([answer]) } else { answer };
    let of = |value: Value| match value.get("targetUri") {
        Some(_) => one(value).and_then(|link: lsp::LocationLink| {
            place(&link.target_uri, link.target_selection_range, link.target_range)
        }),
        None => one(value).and_then(|at: lsp::Location| place(&at.uri, at.range, at.range)),
    };
    let mut places: Vec<Place> = each(list).filter_map(of).collect();
    places.sort();
    places.dedup_by(|a, b| (&a.path, a.line) == (&b.path, b.line));
    places
}

pub fn symbols(answer: Value, file: &Path) -> Vec<Symbol> {
    let mut found = Vec::new();
    for value in each::<Value>(answer) {
        if value.get("location").is_some() {
            let Some(symbol) = one::<lsp::WorkspaceSymbol>(value) else { continue };
            let (uri, range) = match &symbol.location {
                lsp::WorkspaceSymbolLocation::Location(at) => (&at.uri, at.range),
                lsp::WorkspaceSymbolLocation::LocationUriOnly(at) => (&at.uri, lsp::Range::default()),
            };
            let Some(place) = place(uri, range, range) else { continue };
            let of = symbol.base_symbol_information;
            found.push(Symbol { name: of.name, kind: kind(of.kind), place, depth: 0 });
        } else if let Some(symbol) = one::<lsp::DocumentSymbol>(value) {
            outline(symbol, file, 0, &mut found);
        }
    }
    found
}

fn outline(symbol: lsp::DocumentSymbol, file: &Path, depth: usize, found: &mut Vec<Symbol>) {
    let start = symbol.selection_range.start;
    let place = Place {
        path: file.to_owned(),
        line: start.line,
        column: start.character,
        end_line: symbol.range.end.line,
    };
    if found.len() < MOST {
        found.push(Symbol { name: symbol.name, kind: kind(symbol.kind), place, depth });
    }
    for child in symbol.children.into_iter().flatten() {
        outline(child, file, depth + 1, found);
    }
}

fn kind(kind: lsp::SymbolKind) -> String {
    match kind {
        lsp::SymbolKind::Custom(_) => "symbol".to_owned(),
        known => format!("{known:?}").to_lowercase(),
    }
}

#[allow(deprecated)] // Older servers answer so.
pub fn hover(answer: Value) -> Option<String> {
    let hover: lsp::Hover = one(answer)?;
    let said = |part: lsp::MarkedString| match part {
        lsp::MarkedString::String(text) => text,
        lsp::MarkedString::MarkedStringWithLanguage(code) => code.value,
    };
    let text = match hover.contents {
        lsp::Contents::MarkupContent(markup) => markup.value,
        lsp::Contents::MarkedString(part) => said(part),
        lsp::Contents::MarkedStringList(parts) => parts.into_iter().map(said).collect::<Vec<_>>().join("\n"),
    };
    let is_fence = |line: &&str| line.trim_start().starts_with("```") || line.trim() == "---";
    let lines: Vec<&str> = text.lines().filter(|line| !is_fence(line)).collect();
    Some(lines.join("\n").trim().to_owned()).filter(|text| !text.is_empty())
}

pub fn uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let encode = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file://{}", path.as_os_str().as_bytes().iter().map(encode).collect::<String>())
}

/// The path of a `file://` URI; `None` for anything else.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let mut bytes = rest.get(rest.find('/')?..)?.bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let decoded = if byte == b'%' { digit()? * 16 + digit()? } else { byte.into() };
        path.push(u8::try_from(decoded).ok()?);
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
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
        for bad in ["untitled:x", "file://", "file:///%", "file:///%zz"] {
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
            published(json!({"uri": "file:///w/a", "version": 4, "diagnostics": list})).unwrap();
        assert_eq!((path, version, found.len()), (PathBuf::from("/w/a"), Some(4), 2));
        assert_eq!((found[0].severity, found[0].code.as_deref()), (Severity::Warning, Some("7")));
        assert_eq!((found[1].severity, found[1].message.as_str()), (Severity::Hint, "n"));
        assert!(published(json!({"uri": 3})).is_none());
        assert_eq!(pulled(json!({"kind": "unchanged"})), None);
    }

    #[test]
    fn all_forms_of_places_and_hovers() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 5, "character": 3}});
        let at = json!({"uri": "file:///w/a", "range": range});
        let link = json!({"targetUri": "file:///w/a", "targetRange": range, "targetSelectionRange": range});
        let expected = Place { path: "/w/a".into(), line: 1, column: 2, end_line: 5 };
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
            assert_eq!(hover(json!({"contents": contents})).as_deref(), Some("x: int"));
        }
        assert_eq!(hover(Value::Null), None);
        let flat = json!([{"name": "f", "kind": 12, "location": at, "containerName": "m"}]);
        let deep = json!([{"name": "C", "kind": 5, "range": range, "selectionRange": range, "children": [
            {"name": "f", "kind": 6, "range": range, "selectionRange": range}]}]);
        assert_eq!(symbols(flat, Path::new("/w/a"))[0].kind, "function");
        let found = symbols(deep, Path::new("/w/a"));
        assert_eq!((found[1].name.as_str(), found[1].depth), ("f", 1));
    }
}
