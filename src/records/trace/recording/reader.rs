//! Reads recorded sessions: JSONL, plain or gzipped, one event per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::Value;

/// The largest recording, in bytes after unpacking.
const MAX_BYTES: u64 = 1 << 30;

/// One line of a recording. Events with the same `g` belong to one model response.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum RecordedEvent {
    Meta {
        #[serde(default)]
        source: String,
    },
    User {
        #[serde(default)]
        text: String,
    },
    Assistant {
        #[serde(default)]
        text: String,
        g: Option<i64>,
        ts: Option<f64>,
    },
    ToolCall {
        id: String,
        name: String,
        #[serde(default)]
        args: Value,
        g: Option<i64>,
        ts: Option<f64>,
    },
    ToolResult {
        id: String,
        #[serde(default)]
        text: String,
        exit_code: Option<i64>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Recording {
    pub events: Vec<RecordedEvent>,
    pub skipped: usize,
}

impl Recording {
    pub fn source(&self) -> &str {
        let mut sources = self.events.iter().filter_map(|event| match event {
            RecordedEvent::Meta { source } => Some(source.as_str()),
            _ => None,
        });
        sources.next().unwrap_or_default()
    }
}

/// The file itself, or the recordings in the folder by name.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| {
            let name = file.to_string_lossy();
            name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
        })
        .collect();
    files.sort();
    Ok(files)
}

pub fn read(path: &Path) -> io::Result<Recording> {
    let mut file = BufReader::new(File::open(path)?);
    let packed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let source: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut recording = Recording { events: Vec::new(), skipped: 0 };
    let mut lines = BufReader::new(source.take(MAX_BYTES));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            match serde_json::from_slice(&line) {
                Ok(event) => recording.events.push(event),
                Err(_) => recording.skipped += 1,
            }
        }
        line.clear();
    }
    Ok(recording)
}
