//! Reads JSON Lines files of any size, counting lines that are torn, too long or invalid.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::transcript::RecordedImage;
use base::file;

const MAX_LINE_BYTES: u64 = 64 << 20;
const HEAD_BYTES: u64 = 256 << 10;

/// Calls `take` for each line; returns the number of unreadable ones.
pub fn each(path: &Path, mut take: impl FnMut(Value)) -> io::Result<usize> {
    let mut lines = BufReader::with_capacity(256 << 10, open(path)?);
    let mut line = Vec::new();
    let mut torn = 0;
    loop {
        line.clear();
        if lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(torn);
        }
        let whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE_BYTES;
        if !whole {
            lines.skip_until(b'\n')?;
        }
        match serde_json::from_slice(&line) {
            _ if line.trim_ascii().is_empty() => {}
            Ok(value) if whole => take(value),
            _ => torn += 1,
        }
    }
}

pub fn head(path: &Path) -> Vec<Value> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut bytes));
    let lines = bytes.split(|byte| *byte == b'\n').filter(|_| read.is_ok());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn open(path: &Path) -> io::Result<std::fs::File> {
    file::open(path).map(|(file, _)| file).map_err(|error| io::Error::other(error.to_string()))
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// The timestamp in milliseconds since the Unix epoch; 0 if missing.
pub fn moment(value: &Value) -> u64 {
    let at = text(value, "timestamp").parse::<jiff::Timestamp>();
    at.ok().and_then(|at| u64::try_from(at.as_millisecond()).ok()).unwrap_or(0)
}

pub fn picture(url: &str, name: &str) -> Option<RecordedImage> {
    let (kind, data) = url.strip_prefix("data:image/")?.split_once(";base64,")?;
    let name = if name.is_empty() { format!("image.{kind}") } else { name.to_owned() };
    Some(RecordedImage { name, data: data.to_owned() })
}
