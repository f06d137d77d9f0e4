//! opencode stores sessions in a SQLite database (`~/.local/share/opencode/opencode.db`). To avoid a database
//! engine, this uses its commands `opencode session list --format json` and `opencode export`, and where they are missing
//! `sqlite3` or Python; exported files work too. As of version 1.18.33 (npm, November 2026) against a fake server.

use std::io;
use std::path::{Path, PathBuf};
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

/// Query for what `opencode session list` prints.
const LISTED: &str = "select json_group_array(json_object('id', id, 'directory', directory, 'title', title, 'updated', \
    time_updated)) from session where parent_id is null";
/// Query for what `opencode export` prints.
const EXPORTED: &str = "select json_object('info', json_object('id', id, 'directory', directory, 'parentID', parent_id, \
    'revert', json(revert)), 'messages', (select json_group_array(json(one)) from (select json_object('info', \
    json_set(data, '$.id', id), 'parts', (select json_group_array(json(part)) from (select data as part from part \
    where message_id = message.id order by id))) as one from message where session_id = session.id order by id))) \
    from session where id = ";
const PYTHON: &str = "import sqlite3, sys, pathlib; print(sqlite3.connect(pathlib.Path(sys.argv[1]).as_uri() + '?mode=ro', \
    uri=True).execute(sys.argv[2]).fetchone()[0])";

/// The sessions of `folder` or the current folder, because opencode can't list all.
pub fn find(folder: Option<&Path>) -> io::Result<Vec<PeerSession>> {
    let answer = ask(folder, &["session", "list", "--format", "json"]).or_else(|| from_store(LISTED));
    let Some(answer) = answer else {
        let why =
            "its database can't be read: neither `opencode` nor `sqlite3` nor `python3` is in your PATH";
        return if store().is_some() { Err(io::Error::other(why)) } else { Ok(Vec::new()) };
    };
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
        let is_id = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        ask(None, &["export", &id])
            .or_else(|| is_id.then(|| from_store(&format!("{EXPORTED}'{id}'")))?)
            .ok_or_else(|| io::Error::other(format!("neither `opencode export {id}` nor its store has it")))?
    };
    Ok(told(&serde_json::from_slice(&bytes)?))
}

fn ask(folder: Option<&Path>, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("opencode");
    // Plugins are programs of the project, so run without them.
    command.args(args).arg("--pure").env_clear();
    command.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    timeout::ask(&mut command, b"", LIMIT)
}

fn store() -> Option<PathBuf> {
    let usual = || std::env::home_dir().map(|home| home.join(".local/share"));
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(usual)?;
    Some(data.join("opencode/opencode.db")).filter(|store| store.is_file())
}

/// The single value that the query finds.
fn from_store(query: &str) -> Option<Vec<u8>> {
    let store = store()?;
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).arg(&store).arg(query).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        timeout::ask(&mut command, b"", LIMIT).filter(|answer| !answer.trim_ascii().is_empty())
    };
    let programs: [(&str, &[&str]); 2] =
        [("sqlite3", &["-readonly", "-batch"]), ("python3", &["-I", "-c", PYTHON])];
    programs.into_iter().find_map(|(program, args)| run(program, args))
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
            ..Usage::default()
        });
    }
}
