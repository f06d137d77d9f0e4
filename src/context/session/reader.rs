//! Reads a session log. A torn, foreign or damaged line is skipped and counted, not an error.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use super::record::{ItemRecord, Record};
use base::file::{self, FileError};
use base::model::item::{Item, ItemId};

#[derive(Debug, Default)]
pub struct ReadLog {
    pub records: Vec<Record>,
    /// Lines that aren't records of this version.
    pub skipped: usize,
}

pub fn read(path: &Path) -> io::Result<ReadLog> {
    let bytes = file::read_own(path).map_err(|error| explained(path, error))?;
    let mut log = ReadLog::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Record>(line) {
            Ok(record) => log.records.push(record),
            Err(_) => log.skipped += recover_glued(line, &mut log.records),
        }
    }
    Ok(log)
}

fn explained(path: &Path, error: FileError) -> io::Error {
    match error {
        FileError::Io(error) => error,
        FileError::NotFound => io::ErrorKind::NotFound.into(),
        error => io::Error::other(format!("{} {error}", path.display())),
    }
}

/// A torn write may share a line with the next record; recovers that one. Returns 1 if anything was lost.
fn recover_glued(line: &[u8], records: &mut Vec<Record>) -> usize {
    const MOST_TRIES: usize = 1_000;
    let (mut covered, mut at, mut tries) = (0, 0, 0);
    for start in memchr::memmem::find_iter(line, b"{\"") {
        if start < at || tries == MOST_TRIES {
            continue;
        }
        tries += 1;
        let mut stream = serde_json::Deserializer::from_slice(&line[start..]).into_iter::<Record>();
        if let Some(Ok(record)) = stream.next() {
            records.push(record);
            at = start + stream.byte_offset();
            covered += stream.byte_offset();
        }
    }
    usize::from(covered < line.len())
}

/// Finds one item by streaming through a log; if a damaged log repeats an id, the last one counts.
pub fn find_item(path: &Path, id: ItemId) -> io::Result<Option<Arc<Item>>> {
    let needle = format!(r#"{{"item":{{"id":{},"#, id.0);
    let mut reader = BufReader::new(file::open(path).map_err(|error| explained(path, error))?.0);
    let mut line = Vec::new();
    let mut found = None;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(found);
        }
        if line.starts_with(needle.as_bytes())
            && let Ok(Record::Item(ItemRecord { item, .. })) = serde_json::from_slice(&line)
        {
            found = Some(item);
        } else if line.starts_with(br#"{"archive":"#)
            && let Ok(Record::Archive { id: Some(number), summary, .. }) = serde_json::from_slice(&line)
            && number == id
        {
            found = Some(Arc::new(Item::Summary(summary)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn torn_lines_are_skipped() {
        let good = serde_json::to_string(&Record::Rewind { to: ItemId(3) }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let torn = &good[..good.len() - 3];
        std::fs::write(&path, format!("{good}\n{torn}{good}\nnot json\n\0\0\n{good}\n{torn}")).unwrap();
        let log = read(&path).unwrap();
        assert_eq!(log.records.len(), 3);
        assert_eq!(log.skipped, 4);
    }
}
