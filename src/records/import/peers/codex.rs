//! Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/` in `$CODEX_HOME` or
//! `~/.codex`. A line is `{timestamp, type, payload}`: `response_item` has Responses API items, `compacted`
//! and `thread_rolled_back` events change the history, usage follows each reply. As written by version
//! 0.169.0 (npm, November 2026) against a fake server, and by older ones without `token_usage_record`.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::found::{self, PeerSession};
use crate::import::lines::{self, count, list, moment, text};
use crate::import::transcript::{RecordedImage, RecordedResult, Transcript};
use base::model::usage::Usage;
use base::search::words::listed;

/// Kinds of lines and items outside the conversation.
const OTHER: &str = "session_meta turn_context event_msg world_state token_usage_record compacted";
const OTHER_ITEMS: &str = "ghost_snapshot additional_tools web_search_call image_generation_call tool_search_call \
                           tool_search_output compaction compaction_summary context_compaction";
/// Prefixes of texts written by the program, if the line doesn't say so.
const NOT_TYPED: &str = include_str!("not_typed.txt");

pub fn find(folder: Option<&Path>) -> io::Result<Vec<PeerSession>> {
    let Some(base) = found::base("CODEX_HOME", ".codex") else { return Ok(Vec::new()) };
    let all = ["sessions", "archived_sessions"].map(|name| found::files(&base.join(name), 4, &["jsonl"]));
    let found = all.into_iter().flatten().filter_map(|(path, updated_ms)| {
        let head = lines::head(&path);
        let meta = head.iter().find(|line| line["type"] == "session_meta")?;
        if folder.is_some_and(|folder| Path::new(text(&meta["payload"], "cwd")) != folder) {
            return None;
        }
        let mut reading = Reading::default();
        head.iter().for_each(|line| reading.tell(line));
        let Transcript { id, side, .. } = &reading.told;
        Some(PeerSession { id: id.clone(), side: *side, title: reading.told.title(), path, updated_ms })
    });
    Ok(found.collect())
}

pub fn read(path: &Path) -> io::Result<Transcript> {
    let mut reading = Reading::default();
    let torn = lines::each(path, |line| reading.tell(&line))?;
    let mut told = reading.told;
    told.unknown += torn;
    Ok(told)
}

#[derive(Default)]
struct Reading {
    told: Transcript,
    model: String,
    /// Replies so far; lines don't say which reply they belong to.
    replies: usize,
}

impl Reading {
    fn tell(&mut self, line: &Value) {
        let payload = &line["payload"];
        match text(line, "type") {
            // A fork starts with the lines of its original.
            "session_meta" if self.told.id.is_empty() => {
                self.told.id = text(payload, "id").to_owned();
                self.told.folder = payload["cwd"].as_str().map(Into::into);
                self.told.side = payload["source"].is_object();
            }
            "turn_context" => text(payload, "model").clone_into(&mut self.model),
            "response_item" => self.item(moment(line), payload),
            "compacted" => self.compacted(payload),
            "token_usage_record" => self.usage(&payload["usage"]),
            "event_msg" => match text(payload, "type") {
                "token_count" => self.usage(&payload["info"]["last_token_usage"]),
                "thread_rolled_back" => {
                    self.told.rewind(usize::try_from(count(payload, "num_turns")).unwrap_or(0));
                }
                _ => {}
            },
            kind => self.told.unknown += usize::from(!listed(OTHER, kind)),
        }
    }

    fn item(&mut self, ms: u64, item: &Value) {
        let key = self.replies.to_string();
        let (told, model) = (&mut self.told, self.model.as_str());
        let call = |told: &mut Transcript, name: &str, args: Value| {
            let id = item["call_id"].as_str().unwrap_or(text(item, "id"));
            told.call(&key, ms, model, (id.to_owned(), name, args));
        };
        match text(item, "type") {
            "message" if item["role"] == "assistant" => {
                told.reply(&key, ms, model).say(&content(&item["content"], false).0);
            }
            "message" if item["role"] == "user" => {
                let kinds = &item["internal_chat_message_metadata_passthrough"]["content_item_kinds"];
                let kind = |at: usize| kinds[at].as_str().is_none_or(|kind| kind.starts_with("user."));
                let typed = list(&item["content"]).enumerate();
                let typed: Vec<Value> =
                    typed.filter(|(at, _)| kind(*at)).map(|(_, part)| part.clone()).collect();
                let (typed, images) = content(&Value::Array(typed), true);
                told.user(ms, &typed, images);
                self.replies += 1;
            }
            "reasoning" => {
                let told = told.reply(&key, ms, model);
                for part in list(&item["summary"]) {
                    told.think(text(part, "text"));
                }
            }
            "function_call" => {
                let args = text(item, "arguments");
                call(told, text(item, "name"), serde_json::from_str(args).unwrap_or_else(|_| args.into()));
            }
            "custom_tool_call" => call(told, text(item, "name"), json!({"input": item["input"]})),
            "local_shell_call" => call(told, "local_shell", json!({"command": item["action"]["command"]})),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                told.result(output(item));
                self.replies += 1;
            }
            "message" => {}
            kind => told.unknown += usize::from(!listed(OTHER_ITEMS, kind)),
        }
    }

    fn usage(&mut self, usage: &Value) {
        let input = count(usage, "input_tokens");
        if let Some(reply) = self.told.last_reply().filter(|reply| reply.usage.is_none() && input > 0) {
            reply.usage = Some(Usage {
                input,
                cached: count(usage, "cached_input_tokens"),
                cache_write: count(usage, "cache_write_input_tokens"),
                output: count(usage, "output_tokens"),
                reasoning: count(usage, "reasoning_output_tokens"),
                ..Usage::default()
            });
            self.replies += 1;
        }
    }

    /// If the server's summary is encrypted, the user's messages are used.
    fn compacted(&mut self, payload: &Value) {
        let mut summary = text(payload, "message").to_owned();
        if summary.trim().is_empty() {
            let items = list(&payload["replacement_history"]);
            let typed = items.filter(|item| item["role"] == "user");
            let typed: Vec<String> = typed.map(|item| content(&item["content"], true).0).collect();
            summary = format!(
                "The earlier part was summarized in a form that only its server can read. The user had written:\n{}",
                typed.join("\n")
            );
        }
        self.told.compacted(&summary, None);
    }
}

/// Text and pictures; with `typed`, only the user's own text.
fn content(content: &Value, typed: bool) -> (String, Vec<RecordedImage>) {
    let parts = || list(content);
    let texts = parts().filter_map(|part| part["text"].as_str());
    let texts =
        texts.filter(|text| !typed || !NOT_TYPED.lines().any(|start| text.trim_start().starts_with(start)));
    let images = parts().filter_map(|part| lines::picture(text(part, "image_url"), ""));
    (texts.collect::<Vec<_>>().join("\n"), images.collect())
}

/// A call's result without its metadata header.
fn output(item: &Value) -> RecordedResult {
    let (mut whole, images) = match &item["output"] {
        Value::String(text) => (text.clone(), Vec::new()),
        Value::Object(object) => {
            (object.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(), Vec::new())
        }
        other => content(other, false),
    };
    let (mut failed, mut exit_code) = (false, None);
    // The 2025 format: an object in a string.
    if let Ok(Value::Object(old)) = serde_json::from_str::<Value>(&whole)
        && let (Some(text), Some(meta)) = (old.get("output").and_then(Value::as_str), old.get("metadata"))
    {
        exit_code = meta["exit_code"].as_i64();
        whole = text.to_owned();
    }
    if let Some((about, text)) =
        whole.split_once("Output:\n").filter(|(about, _)| about.contains("Wall time"))
    {
        let code = |line: &str| {
            let code =
                line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
            code.and_then(|code| code.trim().parse().ok())
        };
        exit_code = about.lines().find_map(code);
        failed = about.starts_with("Script failed");
        whole = text.to_owned();
    }
    RecordedResult { call: text(item, "call_id").to_owned(), failed, text: whole, exit_code, images }
}
