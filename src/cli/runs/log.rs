//! The output of a run in the background, so far and as it comes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::thread;
use std::time::Duration;

use super::record::{self, Run};
use crate::cli::report::{self, Failure};
use base::{file, sanitize};

const PAUSE: Duration = Duration::from_millis(200);
const PIECE: u64 = 256 * 1024;
const LINE_CHARS: usize = 200;
/// Enough for the last line of any length that is shown.
const LAST_BYTES: u64 = 4 * 1024;

pub struct RunLog {
    file: File,
    run: Run,
    /// A line that isn't complete yet.
    begun: Vec<u8>,
}

impl RunLog {
    pub fn open(run: Run) -> Result<Self, Failure> {
        let (file, _) = file::open(&run.log()).map_err(|_| {
            let id = run.record.session.as_ref().unwrap_or(&run.record.id);
            let message = format!("run {} has no log, as it ran in the foreground", run.record.id);
            Failure::usage(message, format!("`mycode export {id}` shows its session"))
        })?;
        Ok(Self { file, run, begun: Vec::new() })
    }

    /// Continues at the last `lines` lines.
    pub fn skip_to_last(&mut self, lines: usize) -> Result<(), Failure> {
        let size = self.file.seek(SeekFrom::End(0))?;
        let from = size.saturating_sub(PIECE);
        self.file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        self.file.by_ref().take(PIECE).read_to_end(&mut tail)?;
        let ends = tail.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        // The first found is the end of the last line itself.
        let start = ends.skip(usize::from(tail.ends_with(b"\n"))).nth(lines.saturating_sub(1));
        let start = start.map_or(0, |at| at + 1) as u64;
        self.file.seek(SeekFrom::Start(from + start))?;
        Ok(())
    }

    pub fn print(&mut self) -> Result<(), Failure> {
        while self.more()? {}
        Ok(())
    }

    pub fn follow(&mut self) -> Result<Run, Failure> {
        loop {
            // The state first, or output that is written just before the end would be lost.
            let now = record::read(self.run.path.clone()).unwrap_or_else(|| self.run.clone());
            self.print()?;
            if !now.running {
                let rest = std::mem::take(&mut self.begun);
                show(&rest)?;
                return Ok(now);
            }
            thread::sleep(PAUSE);
        }
    }

    fn more(&mut self) -> Result<bool, Failure> {
        let read = self.file.by_ref().take(PIECE).read_to_end(&mut self.begun)?;
        let end = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.begun.drain(..end).collect();
        show(&lines)?;
        Ok(read > 0)
    }
}

fn show(bytes: &[u8]) -> Result<(), Failure> {
    if bytes.is_empty() { Ok(()) } else { report::say(&String::from_utf8_lossy(bytes)) }
}

pub fn last_line(run: &Run) -> Option<String> {
    let tail = file::tail(&run.log(), LAST_BYTES).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(base::text::one_line(&sanitize::clean(line), LINE_CHARS))
}
