//! The output of a run, so far and as it comes. In the background it is what the process prints.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::record::{self, Run};
use crate::cli::report::{self, Failure};
use base::process::task;
use base::protocol::event::Event;
use base::{file, sanitize};
use frontend::exec::human::Human;
use frontend::exec::printer::Printer as _;
use frontend::exec::turn_answer::TurnAnswer;

const PAUSE: Duration = Duration::from_millis(200);
const PIECE: u64 = 256 * 1024;
const LINE_CHARS: usize = 200;
/// Enough for the last line of any length that is shown.
const LAST_BYTES: u64 = 4 * 1024;

pub struct RunLog {
    file: File,
    run: Run,
    begun: Vec<u8>,
}

impl RunLog {
    pub fn open(run: Run) -> Result<Self, Failure> {
        let (file, _) = file::open(&run.log()).map_err(|_| {
            let hint = match (&run.record.session, &run.record.tree) {
                (Some(id), _) => format!("`mycode export {id}` shows its session"),
                (None, Some(folder)) => {
                    format!("its tasks' output is in {}/*.events.jsonl", folder.display())
                }
                (None, None) => "its terminal shows its output".to_owned(),
            };
            Failure::usage(format!("run {} has no log", run.record.id), hint)
        })?;
        Ok(Self { file, run, begun: Vec::new() })
    }

    pub fn skip_to_last(&mut self, lines: usize) -> Result<(), Failure> {
        let size = self.file.seek(SeekFrom::End(0))?;
        let from = size.saturating_sub(PIECE);
        self.file.seek(SeekFrom::Start(from))?;
        let mut tail = Vec::new();
        self.file.by_ref().take(PIECE).read_to_end(&mut tail)?;
        let ends = tail.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        // The first line end is that of the last line itself.
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
            // Read the state first, or output written just before the end would be lost.
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

/// Forwards a foreground run's events, and writes to its log what it would print.
pub fn follow(mut events: UnboundedReceiver<Event>, record: &Path) -> UnboundedReceiver<Event> {
    let opened = record::new_log(record).and_then(|file| Ok((file.try_clone()?, file)));
    // A background run already has a log.
    let Ok((out, progress)) = opened else { return events };
    let (sender, receiver) = unbounded_channel();
    let (mut printer, mut answer) = (Human::new(out, progress, false), TurnAnswer::new(None));
    task::spawn(async move {
        while let Some(event) = events.recv().await {
            answer.event(&event);
            // A full disk is no reason to stop.
            let _ = match &event {
                Event::TurnEnded(end) => printer.end(end, &answer.said, 0),
                Event::Ask { question, .. } => printer.denied(question),
                event => printer.event(event),
            };
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    receiver
}

pub fn last_line(run: &Run) -> Option<String> {
    let tail = file::tail(&run.log(), LAST_BYTES).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(base::text::one_line(&sanitize::clean(line), LINE_CHARS))
}
