//! opencode stores sessions in a SQLite database (`~/.local/share/opencode/opencode.db`). To avoid a database
//! engine, this uses its commands `opencode session list --format json` and `opencode export`; exported files
//! work too. As of version 1.18.33 (npm, November 2026) against a fake server.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::found::PeerSession;
use crate::import::lines::{self, count, list, text};
use crate::import::transcript::{RecordedImage, RecordedResult, Transcript};
use base::file;
use base::model::usage::Usage;
use base::process::timeout;
use base::search::words::listed;

const LIMIT: Duration = Duration::from_secs(60);
const MAX_BYTES: u64 = 512 << 20;
/// The environment passed to opencode: no keys.
const VARIABLES: &[&str] =
    &["PATH", "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
/// Message parts outside the conversation.
const OTHER: &str = "step-start step-finish snapshot patch agent subtask retry compaction file";

/// The sessions of `folder` or the current folder: opencode can't list all.
pub fn find(folder: Option<&Path>) -> io::Result<Vec<PeerSession>> {
    let Some(answer) = ask(folder, &["session", "list", "--format", "json"]) else { return Ok(Vec::new()) };
    let rows: Vec<Value> = serde_json::from_slice(&answer).unwrap_or_default();
    let here = |row: &&Value| folder.is_none_or(|folder| Path::new(text(row, "directory")) == folder);
    let found = rows.iter().filter(here).map(|row| PeerSession {
        id: text(row, "id").to_owned(),
        path: text(row, "id").into(),
        title: base::text::one_line(text(row, "title"), 80),
        updated_ms: count(row, "updated"),
        side: false,
    });
    Ok(found.collect())
}

/// Reads an exported file, or the session with that id.
pub fn read(path: &Path) -> io::Result<Transcript> {
    let bytes = if path.is_file() {
        file::read(path, MAX_BYTES).map_err(|error| io::Error::other(error.to_string()))?.0
    } else {
        let id = path.to_string_lossy();
        ask(None, &["export", &id])
            .ok_or_else(|| io::Error::other(format!("`opencode export {id}` printed nothing")))?
    };
    Ok(told(&serde_json::from_slice(&bytes)?))
}

fn ask(folder: Option<&Path>, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("opencode");
    // Without plugins: they're programs of the project.
    command.args(args).arg("--pure").env_clear();
    command.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    timeout::ask(&mut command, b"", LIMIT)
}

fn told(whole: &Value) -> Transcript {
    let info = &whole["info"];
    let folder = info["directory"].as_str().map(Into::into);
    let mut told = Transcript::of(text(info, "id"), folder, info["parentID"].is_string());
    let reverted = info["revert"]["messageID"].as_str();
    for message in list(&whole["messages"]) {
        if reverted.is_some_and(|id| text(&message["info"], "id") == id) {
            break;
        }
        match text(&message["info"], "role") {
            "user" => user(message, &mut told),
            "assistant" => reply(message, &mut told),
            _ => told.unknown += 1,
        }
    }
    told
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    list(&message["parts"])
}

fn user(message: &Value, told: &mut Transcript) {
    let typed = parts(message).filter(|part| part["type"] == "text" && part["synthetic"] != true);
    let typed: Vec<&str> = typed.map(|part| text(part, "text")).collect();
    let images = parts(message).filter_map(image).collect();
    told.user(count(&message["info"]["time"], "created"), &typed.join("\n"), images);
}

fn image(part: &Value) -> Option<RecordedImage> {
    (part["type"] == "file").then(|| lines::picture(text(part, "url"), text(part, "filename")))?
}

fn reply(message: &Value, told: &mut Transcript) {
    let info = &message["info"];
    let (key, ms, model) = (text(info, "id"), count(&info["time"], "created"), text(info, "modelID"));
    if info["summary"] == true {
        let summary: Vec<&str> = parts(message).map(|part| text(part, "text")).collect();
        told.compacted(&summary.join("\n"), None);
        return;
    }
    for part in parts(message) {
        match text(part, "type") {
            "reasoning" => told.reply(key, ms, model).think(text(part, "text")),
            "text" => told.reply(key, ms, model).say(text(part, "text")),
            "tool" => {
                let (id, state) = (text(part, "callID"), &part["state"]);
                told.call(key, ms, model, (id.to_owned(), text(part, "tool"), state["input"].clone()));
                if matches!(text(state, "status"), "completed" | "error") {
                    let error = state["error"].as_str();
                    told.result(RecordedResult {
                        call: id.to_owned(),
                        text: error.unwrap_or(text(state, "output")).to_owned(),
                        failed: error.is_some(),
                        exit_code: state["metadata"]["exit"].as_i64(),
                        images: list(&state["attachments"]).filter_map(image).collect(),
                    });
                }
            }
            kind => told.unknown += usize::from(!listed(OTHER, kind)),
        }
    }
    let (tokens, cache) = (&info["tokens"], &info["tokens"]["cache"]);
    let (cached, cache_write) = (count(cache, "read"), count(cache, "write"));
    let (input, reasoning) = (count(tokens, "input"), count(tokens, "reasoning"));
    if let Some(reply) = told.told_reply(key).filter(|_| input > 0 || cached > 0) {
        reply.usage = Some(Usage {
            input: input.saturating_add(cached).saturating_add(cache_write),
            cached,
            cache_write,
            output: count(tokens, "output").saturating_add(reasoning),
            reasoning,
        });
    }
}
