//! Reads the tasks of a batch, where a mistake in any line prevents it from starting; and keeps its results: an append-only
//! file with one line per task. A task with a line is done.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::cli::report::{self, Failure, OrFail};
use base::{file, sanitize};
use context::session::log;

const MAX_BYTES: u64 = 256 << 20;
pub const STDIN: &str = "-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchTask {
    pub id: String,
    pub prompt: String,
    pub dir: PathBuf,
    /// It is only a line's number, which another task may get.
    pub is_line: bool,
}

impl BatchTask {
    pub fn hash(&self) -> String {
        file::hash(self.prompt.as_bytes())[..HASH].to_owned()
    }
}

const HASH: usize = 12;

pub fn facts(result: &Value) -> Option<String> {
    let facts = result["facts"].as_array()?.iter().filter_map(Value::as_str);
    Some(facts.map(|fact| fact.replace('_', " ")).collect::<Vec<_>>().join(", "))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    prompt: String,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    dir: PathBuf,
}

pub fn read(path: &Path) -> Result<Vec<BatchTask>, Failure> {
    let bytes = match path == Path::new(STDIN) {
        true => report::standard_input()?.into_bytes(),
        false => file::read(path, MAX_BYTES)
            .map(|(bytes, _)| bytes)
            .or_usage(format!("can't read {}", path.display()), "name a file with one task per line")?,
    };
    let mut seen = HashSet::new();
    let mut tasks = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let task = task(line, index + 1).and_then(|task| match seen.insert(task.id.clone()) {
            true => Ok(task),
            false => Err(format!("the id {} is taken by an earlier line", task.id)),
        });
        tasks.push(task.map_err(|why| {
            Failure::usage(
                format!("{}:{}: {why}", path.display(), index + 1),
                "a task is a string or {\"prompt\": \"...\", \"id\": \"...\", \"dir\": \"folder\"}; nothing was run",
            )
        })?);
    }
    Ok(tasks)
}

fn task(line: &[u8], number: usize) -> Result<BatchTask, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| format!("it is not JSON: {error}"))?;
    let fields = match value {
        Value::String(prompt) => Fields { prompt, id: Value::Null, dir: PathBuf::new() },
        other => serde_json::from_value(other).map_err(|error| error.to_string())?,
    };
    let is_line = fields.id.is_null();
    let id = match fields.id {
        Value::Null => number.to_string(),
        Value::String(id) => id,
        Value::Number(id) => id.to_string(),
        _ => return Err("the id isn't a string".to_owned()),
    };
    if !is_name(&id) {
        return Err(format!("the id '{id}' may only have letters, digits, '.', '_' and '-', at most 64"));
    }
    if fields.prompt.trim().is_empty() {
        return Err("the prompt is empty".to_owned());
    }
    if !fields.dir.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("the dir '{}' points outside this folder", fields.dir.display()));
    }
    Ok(BatchTask { id, prompt: fields.prompt, dir: fields.dir, is_line })
}

fn is_name(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !id.starts_with(['.', '-'])
        && !id.ends_with('.')
        && !id.ends_with(".lock")
        && !id.contains("..")
}

/// Locked against another batch.
pub struct Results {
    file: File,
    /// By task id; a task's last line counts.
    lines: HashMap<String, Value>,
}

impl Results {
    /// Ignores a line that a kill left incomplete.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let fail = |error: io::Error| {
            let hint = "name another one with --results";
            Failure::task(format!("the results file {} can't be used: {error}", path.display()), hint)
        };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let message = format!("another batch writes its results to {}", path.display());
            return Err(Failure::task(message, "wait for it to finish, or name another file with --results"));
        }
        let mut lines = HashMap::new();
        for line in fs::read(path).map_err(fail)?.split(|byte| *byte == b'\n') {
            let line: Value = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(_)) = (line["id"].as_str(), line["exit_code"].as_u64()) {
                lines.insert(id.to_owned(), line);
            }
        }
        if !log::ends_with_line_end(&mut file).map_err(fail)? {
            file.write_all(b"\n").map_err(fail)?;
        }
        Ok(Self { file, lines })
    }

    /// Lines may have moved since: finds each task's result by its prompt, and keeps it from taking another task's.
    pub fn settle(&self, tasks: &mut [BatchTask]) {
        let is_of = |id: &str, hash: &str| self.line(id).is_some_and(|line| line["prompt_hash"] == hash);
        let mut taken: HashSet<String> =
            tasks.iter().filter(|task| !task.is_line).map(|task| task.id.clone()).collect();
        for task in tasks.iter_mut().filter(|task| task.is_line) {
            let hash = task.hash();
            let is_free = |id: &&String| !taken.contains(*id);
            let old = |line: &Value| line["prompt_hash"].is_null();
            let is_own = self.line(&task.id).is_some_and(old) || is_of(&task.id, &hash);
            let moved = || self.lines.keys().filter(is_free).find(|id| is_of(id, &hash));
            let own = Some(&task.id).filter(is_free);
            let new = || own.filter(|id| self.line(id).is_none());
            let id = own.filter(|_| is_own).or_else(moved).or_else(new).cloned();
            task.id = id.unwrap_or_else(|| format!("{}-{hash}", task.id));
            taken.insert(task.id.clone());
        }
    }

    pub fn code(&self, id: &str) -> Option<u64> {
        self.line(id)?["exit_code"].as_u64()
    }

    pub fn line(&self, id: &str) -> Option<&Value> {
        self.lines.get(id)
    }

    pub fn add(&mut self, id: &str, line: Value) -> io::Result<()> {
        self.file.write_all(format!("{}\n", sanitize::escape(&line.to_string())).as_bytes())?;
        self.lines.insert(id.to_owned(), line);
        Ok(())
    }
}
