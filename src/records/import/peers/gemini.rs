//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl` in `.gemini` of `$GEMINI_CLI_HOME` or the home
//! folder; the project's folder is in `tmp/<project>/.project_root`, sub-agents in `chats/<id>/`. A line is a
//! message (replaces one with its id), a `$set` or a `$rewindTo`; before 2026, a `.json` file with one value,
//! `{messages}`. As written by version 0.61.0 (npm, November 2026) against a fake server.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::found::{self, PeerSession};
use crate::import::lines::{self, count, list, moment, text};
use crate::import::transcript::{RecordedImage, RecordedResult, Transcript};
use base::file;
use base::model::usage::Usage;

const MAX_OLD_BYTES: u64 = 256 << 20;
/// Message kinds outside the conversation.
const OTHER: &[&str] = &["info", "error", "warning"];

pub fn find(folder: Option<&Path>) -> io::Result<Vec<PeerSession>> {
    let Some(home) = found::base("GEMINI_CLI_HOME", "") else { return Ok(Vec::new()) };
    let tmp = home.join(".gemini/tmp");
    let found = found::files(&tmp, 4, &["jsonl", "json"]).into_iter().filter_map(|(path, updated_ms)| {
        let project = path.strip_prefix(&tmp).ok()?.iter().next()?;
        let chat = path.strip_prefix(tmp.join(project).join("chats")).ok()?;
        let root = file::small_text(&tmp.join(project).join(".project_root"), 4096);
        let hash = folder.map(|folder| file::hash(folder.as_os_str().as_encoded_bytes()));
        let here = root.as_deref().map(str::trim).map(Path::new) == folder
            || hash.is_some_and(|hash| project.to_string_lossy().starts_with(&hash));
        if folder.is_some() && !here {
            return None;
        }
        let side = chat.components().count() > 1;
        let told = told(&path, true).ok()?;
        // Resuming leaves empty session files behind.
        let said = !told.title().is_empty();
        said.then(|| PeerSession { id: told.id.clone(), title: told.title(), side, path, updated_ms })
    });
    Ok(found.collect())
}

pub fn read(path: &Path) -> io::Result<Transcript> {
    told(path, false)
}

fn told(path: &Path, head: bool) -> io::Result<Transcript> {
    let mut reading = Reading::default();
    if path.extension().is_some_and(|ending| ending == "json") {
        let (bytes, _) =
            file::read(path, MAX_OLD_BYTES).map_err(|error| io::Error::other(error.to_string()))?;
        let whole: Value = serde_json::from_slice(&bytes)?;
        reading.line(whole.clone());
        list(&whole["messages"]).for_each(|message| reading.line(message.clone()));
    } else if head {
        lines::head(path).into_iter().for_each(|line| reading.line(line));
    } else {
        reading.told.unknown = lines::each(path, |line| reading.line(line))?;
    }
    let mut told = reading.finish();
    let project = path.ancestors().find(|folder| folder.join(".project_root").is_file());
    let root = project.and_then(|project| file::small_text(&project.join(".project_root"), 4096));
    told.folder = root.map(|root| root.trim().into());
    Ok(told)
}

#[derive(Default)]
struct Reading {
    told: Transcript,
    messages: Vec<Value>,
    places: HashMap<String, usize>,
}

impl Reading {
    fn line(&mut self, line: Value) {
        if let Some(messages) = line["$set"]["messages"].as_array() {
            // When resuming, the CLI clears the list and writes the same messages again with fewer details.
            let (told, known) = (typed_texts(messages), typed_texts(&self.messages));
            if known.is_empty() || !told.is_empty() && told != known {
                self.messages.clear();
                self.places.clear();
                messages.iter().for_each(|message| self.put(message.clone()));
            }
        } else if let Some(id) = line["$rewindTo"].as_str() {
            let at = self.places.get(id).copied().unwrap_or(0);
            self.messages.truncate(at);
            self.places.retain(|_, place| *place < at);
        } else if line["type"].is_string() && line["id"].is_string() {
            self.put(line);
        } else if line["sessionId"].is_string() {
            text(&line, "sessionId").clone_into(&mut self.told.id);
            self.told.side = line["kind"] == "subagent";
        } else if !line["$set"].is_object() {
            self.told.unknown += 1;
        }
    }

    fn put(&mut self, message: Value) {
        let id = text(&message, "id").to_owned();
        match self.places.get(&id) {
            Some(at) => self.messages[*at] = message,
            None => {
                self.places.insert(id, self.messages.len());
                self.messages.push(message);
            }
        }
    }

    fn finish(mut self) -> Transcript {
        for message in &self.messages {
            tell(message, &mut self.told);
        }
        self.told
    }
}

fn typed_texts(messages: &[Value]) -> Vec<String> {
    let typed = messages.iter().filter(|message| message["type"] == "user").map(typed);
    typed.filter(|text| !text.is_empty()).collect()
}

fn typed(message: &Value) -> String {
    let shown = &message["displayContent"];
    let content = if shown.is_null() { &message["content"] } else { shown };
    let typed = said(content, false);
    if typed.trim_start().starts_with("<session_context>") { String::new() } else { typed }
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice).iter()
}

fn said(content: &Value, thoughts: bool) -> String {
    if let Some(text) = content.as_str() {
        return if thoughts { String::new() } else { text.to_owned() };
    }
    let texts = parts(content).filter(|part| (part["thought"] == true) == thoughts);
    texts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("")
}

fn images(content: &Value) -> Vec<RecordedImage> {
    let inline = parts(content).map(|part| &part["inlineData"]).filter(|inline| inline.is_object());
    let pictures = inline.filter(|inline| text(inline, "mimeType").starts_with("image/"));
    pictures
        .map(|inline| RecordedImage { name: "image".to_owned(), data: text(inline, "data").to_owned() })
        .collect()
}

fn tell(message: &Value, told: &mut Transcript) {
    let (ms, content) = (moment(message), &message["content"]);
    match text(message, "type") {
        "user" => {
            let answers = parts(content).filter(|part| part["functionResponse"].is_object()).count();
            if answers > 0 {
                results(content, told, false);
            } else if typed(message).trim_start().starts_with("<state_snapshot>") {
                told.compacted(&typed(message), None);
            } else if !typed(message).is_empty() {
                told.user(ms, &typed(message), images(content));
            }
        }
        "gemini" => {
            let (key, model) = (text(message, "id"), text(message, "model"));
            let reply = told.reply(key, ms, model);
            reply.think(&said(content, true));
            for thought in list(&message["thoughts"]) {
                reply.think(text(thought, "description"));
            }
            reply.say(&said(content, false));
            let tokens = &message["tokens"];
            if tokens.is_object() {
                let reasoning = count(tokens, "thoughts");
                reply.usage = Some(Usage {
                    input: count(tokens, "input").saturating_add(count(tokens, "tool")),
                    cached: count(tokens, "cached"),
                    output: count(tokens, "output").saturating_add(reasoning),
                    reasoning,
                    ..Usage::default()
                });
            }
            let called = parts(content).map(|part| &part["functionCall"]).filter(|call| call.is_object());
            for call in called.chain(list(&message["toolCalls"])) {
                let one = (text(call, "id").to_owned(), text(call, "name"), call["args"].clone());
                told.call(key, ms, model, one);
                results(&call["result"], told, text(call, "status") == "error");
            }
        }
        kind => told.unknown += usize::from(!OTHER.contains(&kind)),
    }
}

/// The results of calls; pictures belong to the result before them.
fn results(content: &Value, told: &mut Transcript, failed: bool) {
    let all = images(content);
    for answer in parts(content).map(|part| &part["functionResponse"]).filter(|answer| answer.is_object()) {
        let response = &answer["response"];
        let error = response["error"].as_str();
        let said =
            error.or_else(|| response["output"].as_str()).map_or_else(|| response.to_string(), str::to_owned);
        let inner = said.strip_prefix("<untrusted_context>\nOutput: ").unwrap_or(&said);
        let inner = inner.trim_end().strip_suffix("</untrusted_context>").unwrap_or(inner);
        let exit = inner.lines().find_map(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok());
        told.result(RecordedResult {
            call: text(answer, "id").to_owned(),
            text: inner.to_owned(),
            failed: failed || error.is_some(),
            exit_code: exit,
            images: all.clone(),
        });
    }
}
