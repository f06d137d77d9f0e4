//! The digest of finished steps, made by rule: what the agent said, which files and commands were involved, which other
//! names occur there. Stands for calls and results together, so it is plain assistant text. Pure.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::base::text;
use crate::context::compress::identifier_index;
use crate::context::history::entry::Entry;
use crate::model::envelope::Status;
use crate::model::item::Item;

/// Characters kept of one command.
const COMMAND_CHARS: usize = 160;

/// The digest of `entries`. `used` are the names used since: they stand in later words anyway; `said_chars` is kept of each thing the agent said.
pub fn digest(entries: &[Entry], used: &HashSet<&str>, said_chars: usize, names_tokens: u64) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut ran: Vec<String> = Vec::new();
    for entry in entries {
        match &*entry.item {
            Item::Assistant { text: words } => {
                said.push(text::elide(words.trim(), said_chars));
            }
            Item::ToolResult(result) => {
                let data = &result.envelope.data;
                let get = |key: &str| data.get(key).and_then(Value::as_str);
                let failed = match (data.get("exit_code").and_then(Value::as_i64), result.envelope.status) {
                    (Some(code), _) if code != 0 => format!(" exit {code}"),
                    (_, Status::Error) => " failed".to_owned(),
                    _ => String::new(),
                };
                let id = entry.id;
                match (get("path"), get("command"), get("pattern")) {
                    (_, _, Some(pattern)) => {
                        let place = get("path").map(|path| format!(" in {path}")).unwrap_or_default();
                        ran.push(format!(
                            "{id} {} {}{place}{failed}",
                            result.tool,
                            text::one_line(pattern, COMMAND_CHARS)
                        ));
                    }
                    (Some(path), ..) => {
                        let done = files.entry(path).or_insert_with(|| {
                            order.push(path);
                            Vec::new()
                        });
                        let verb = match &*result.tool {
                            "Read" => "read",
                            "Write" => "written",
                            _ => "edited",
                        };
                        done.push(format!("{verb} {id}{failed}"));
                    }
                    (None, Some(command), None) => {
                        ran.push(format!("{id} `{}`{failed}", text::one_line(command, COMMAND_CHARS)));
                    }
                    _ => ran.push(format!("{id} {}{failed}", result.tool)),
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    for words in said {
        out.push_str(&words);
        out.push('\n');
    }
    out.push_str("[Earlier steps, folded; Recall {\"id\":n} opens #n]\n");
    if !order.is_empty() {
        out.push_str("files:\n");
        for path in order {
            let done = files.get(path).map(|done| done.join(", ")).unwrap_or_default();
            out.push_str(&format!("  {path}: {done}\n"));
        }
    }
    if !ran.is_empty() {
        out.push_str("ran:\n");
        for line in ran {
            out.push_str(&format!("  {line}\n"));
        }
    }
    let sources = entries.iter().map(|entry| match &*entry.item {
        Item::ToolCall(call) => &*call.args,
        Item::ToolResult(result) => result.envelope.body.as_str(),
        _ => "",
    });
    let names = identifier_index::names(sources, &out, used, names_tokens);
    if !names.is_empty() {
        out.push_str(&format!("names: {names}\n"));
    }
    out.pop();
    out
}
