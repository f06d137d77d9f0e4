//! `exec --trajectory`: rewrites the trajectory after each step, so that it survives a time-out of the caller.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use base::process::task;
use base::protocol::event::Event;
use records::export::write::{self, ExportFormat, ExportOptions};

/// Writes in a separate thread, so that the run never waits for it.
pub struct TrajectoryWriter {
    steps: mpsc::Sender<()>,
    thread: JoinHandle<()>,
    log: PathBuf,
    file: PathBuf,
}

impl TrajectoryWriter {
    pub fn new(log: PathBuf, file: &Path) -> Self {
        let (steps, step) = mpsc::channel();
        let (from, to) = (log.clone(), file.to_owned());
        let thread = std::thread::spawn(move || {
            while step.recv().is_ok() {
                // Steps that came in the meantime are included.
                while step.try_recv().is_ok() {}
                let _ = written(&from, &to);
            }
        });
        Self { steps, thread, log, file: file.to_owned() }
    }

    pub fn follow(&self, mut events: UnboundedReceiver<Event>) -> UnboundedReceiver<Event> {
        let (sender, receiver) = unbounded_channel();
        let steps = self.steps.clone();
        task::spawn(async move {
            while let Some(event) = events.recv().await {
                let is_step = matches!(event, Event::ToolDone { .. } | Event::Item { .. } | Event::Window(_));
                if sender.send(event).is_err() {
                    break;
                }
                if is_step {
                    let _ = steps.send(());
                }
            }
        });
        receiver
    }

    /// Writes once more, when the session is complete on disk. The error completes a sentence.
    pub fn finish(self) -> Result<(), String> {
        drop(self.steps);
        let _ = self.thread.join();
        written(&self.log, &self.file)
    }
}

fn written(log: &Path, file: &Path) -> Result<(), String> {
    let options = ExportOptions { format: ExportFormat::Atif, ..ExportOptions::default() };
    write::write(log, file, options, true).map_err(|error| error.to_string())
}
