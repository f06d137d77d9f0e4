//! Claude Code: `projects/<folder with dashes>/<id>.jsonl` in `$CLAUDE_CONFIG_DIR` or `~/.claude`, sub-agents
//! in `<id>/subagents/`. Lines form a tree by `parentUuid`; the path to the last line is the session. Each
//! block of a reply is a separate line, as is each result, a child of its call, so parallel calls leave the
//! path. As written by version 2.1.197 (npm, November 2026) against a fake server.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::found::{self, PeerSession};
use crate::import::lines::{self, count, list, moment, text};
use crate::import::transcript::{RecordedImage, RecordedResult, Transcript};
use base::model::usage::Usage;
use base::search::words::listed;

/// Line kinds outside the conversation.
const OTHER: &str = "system attachment summary queue-operation last-prompt mode permission-mode progress file-history-snapshot \
                     ai-title custom-title tag agent-name agent-color agent-setting pr-link worktree-state speculation-accept \
                     content-replacement";
/// Prefixes of texts written by the program, not the user.
const NOT_TYPED: &[&str] =
    &["<local-command-", "<command-", "<system-reminder>", "<task-notification>", "Caveat: "];
/// Claude Code truncates long folder names.
const NAME_CHARS: usize = 150;

pub fn find(folder: Option<&Path>) -> io::Result<Vec<PeerSession>> {
    let Some(base) = found::base("CLAUDE_CONFIG_DIR", ".claude") else { return Ok(Vec::new()) };
    let wanted = folder.map(|folder| {
        let name = folder.to_string_lossy();
        name.chars()
            .take(NAME_CHARS)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect::<String>()
    });
    let projects = base.join("projects");
    let found = found::files(&projects, 4, &["jsonl"]).into_iter().filter_map(|(path, updated_ms)| {
        let name = path.strip_prefix(&projects).ok()?.iter().next()?.to_string_lossy().into_owned();
        if wanted.as_ref().is_some_and(|wanted| !name.starts_with(wanted.as_str())) {
            return None;
        }
        let head = lines::head(&path);
        let is_there = |folder: &Path| head.iter().any(|line| Path::new(text(line, "cwd")) == folder);
        if folder.is_some_and(|folder| !is_there(folder)) {
            return None;
        }
        let mut told = Transcript::default();
        head.iter().for_each(|line| tell(line, &mut told, &HashMap::new()));
        let id = path.file_stem()?.to_string_lossy().into_owned();
        let side = path.parent().is_some_and(|parent| parent.ends_with("subagents"));
        Some(PeerSession { id, title: told.title(), side, path, updated_ms })
    });
    Ok(found.collect())
}

struct Node {
    uuid: String,
    parent: String,
    reply: String,
    side: bool,
}

pub fn read(path: &Path) -> io::Result<Transcript> {
    let mut nodes: Vec<Node> = Vec::new();
    lines::each(path, |line| {
        if let Some(uuid) = line["uuid"].as_str() {
            let parent = line["parentUuid"].as_str().or_else(|| line["logicalParentUuid"].as_str());
            nodes.push(Node {
                uuid: uuid.to_owned(),
                parent: parent.unwrap_or_default().to_owned(),
                reply: text(&line["message"], "id").to_owned(),
                side: line["isSidechain"] == true,
            });
        }
    })?;
    let side = nodes.iter().all(|node| node.side);
    let live = live(&nodes, side);
    let mut told = Transcript::of("", None, side);
    let mut steps: HashMap<String, usize> = HashMap::new();
    let mut unknown = 0;
    let torn = lines::each(path, |line| {
        let kind = text(&line, "type");
        if told.folder.is_none() && line["cwd"].is_string() {
            told.folder = Some(text(&line, "cwd").into());
            told.id = text(&line, "sessionId").to_owned();
        }
        unknown += usize::from(!listed(OTHER, kind) && !matches!(kind, "user" | "assistant"));
        let uuid = text(&line, "uuid");
        let answers = line["message"]["content"].as_array().is_some_and(|blocks| {
            blocks.iter().any(|block| told.calls.contains_key(text(block, "tool_use_id")))
        });
        let reply = text(&line["message"], "id");
        if live.contains(uuid) || answers || !reply.is_empty() && live.contains(reply) {
            steps.insert(uuid.to_owned(), told.steps.len());
            tell(&line, &mut told, &steps);
        }
    })?;
    told.unknown = torn + unknown;
    Ok(told)
}

/// The ids of the lines on the path to the last one, and of their replies.
fn live(nodes: &[Node], side: bool) -> HashSet<String> {
    let places: HashMap<&str, &Node> = nodes.iter().map(|node| (node.uuid.as_str(), node)).collect();
    let mut at = nodes.iter().rev().find(|node| node.side == side);
    let mut live = HashSet::new();
    while let Some(node) = at {
        if !live.insert(node.uuid.clone()) {
            break;
        }
        if !node.reply.is_empty() {
            live.insert(node.reply.clone());
        }
        at = places.get(node.parent.as_str()).copied();
    }
    live
}

fn tell(line: &Value, told: &mut Transcript, steps: &HashMap<String, usize>) {
    let message = &line["message"];
    match text(line, "type") {
        "assistant" => reply(line, message, told),
        "user" if line["isCompactSummary"] == true => {
            let kept = told.kept_at.take();
            told.compacted(&content(&message["content"]).0, kept);
        }
        "user" if line["isMeta"] == true => {}
        "user" => {
            let mut pasted = Vec::new();
            for block in list(&message["content"]) {
                if text(block, "type") == "tool_result" {
                    let (text_of, images) = content(&block["content"]);
                    let exit = text_of.strip_prefix("Exit code ").and_then(|rest| rest.split_once('\n'));
                    told.result(RecordedResult {
                        call: text(block, "tool_use_id").to_owned(),
                        exit_code: exit.and_then(|(code, _)| code.parse().ok()),
                        text: exit.map_or(text_of.as_str(), |(_, rest)| rest).to_owned(),
                        failed: block["is_error"] == true,
                        images,
                    });
                } else {
                    pasted.push(block.clone());
                }
            }
            let (typed, images) = match &message["content"] {
                Value::Array(_) => content(&Value::Array(pasted)),
                other => content(other),
            };
            user(line, told, typed, images);
        }
        "attachment" if line["attachment"]["type"] == "queued_command" => {
            let (typed, images) = content(&line["attachment"]["prompt"]);
            user(line, told, typed, images);
        }
        "system" if line["subtype"] == "compact_boundary" => {
            let kept = &line["compactMetadata"]["preservedMessages"]["uuids"];
            let first = list(kept).filter_map(Value::as_str);
            told.kept_at = first.filter_map(|uuid| steps.get(uuid).copied()).min();
        }
        _ => {}
    }
}

fn user(line: &Value, told: &mut Transcript, typed: String, images: Vec<RecordedImage>) {
    if !NOT_TYPED.iter().any(|start| typed.trim_start().starts_with(start)) {
        told.user(moment(line), &typed, images);
    }
}

fn reply(line: &Value, message: &Value, told: &mut Transcript) {
    let (key, model) = (text(message, "id"), text(message, "model"));
    if model == "<synthetic>" || line["isApiErrorMessage"] == true {
        return;
    }
    for block in list(&message["content"]) {
        match text(block, "type") {
            "thinking" => told.reply(key, moment(line), model).think(text(block, "thinking")),
            "text" => told.reply(key, moment(line), model).say(text(block, "text")),
            "tool_use" => {
                let call = (text(block, "id").to_owned(), text(block, "name"), block["input"].clone());
                told.call(key, moment(line), model, call);
            }
            _ => {}
        }
    }
    let usage = &message["usage"];
    if usage.is_object() {
        let (cached, cache_write) =
            (count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens"));
        // The last line of a reply has its final usage.
        if let Some(reply) = told.told_reply(key) {
            reply.usage = Some(Usage {
                input: count(usage, "input_tokens").saturating_add(cached).saturating_add(cache_write),
                cached,
                cache_write,
                output: count(usage, "output_tokens"),
                ..Usage::default()
            });
        }
    }
}

fn content(content: &Value) -> (String, Vec<RecordedImage>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let blocks = || list(content);
    let texts: Vec<&str> = blocks().filter_map(|block| block["text"].as_str()).collect();
    let images = blocks().filter(|block| block["type"] == "image").map(|block| RecordedImage {
        name: "image".to_owned(),
        data: text(&block["source"], "data").to_owned(),
    });
    (texts.join("\n"), images.collect())
}
