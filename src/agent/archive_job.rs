//! A summary in the making: a task beside the session, aborted when nobody wants it any more. Knows no history.

use tokio::task::JoinHandle;

use super::control::{Events, TurnControl};
use crate::context::compress::summary::Summarised;
use crate::model::item::ItemId;
use crate::protocol::event::Event;

/// Failures in a row after which summaries are no longer tried by themselves.
const MAX_FAILURES: u32 = 2;

/// What the archivist is at.
#[derive(Default)]
pub struct Archivist {
    pub job: Option<Job>,
    failures: u32,
    /// The person does not want summaries to be made by themselves.
    off: bool,
}

impl Archivist {
    /// `/compact auto on|off`.
    pub fn set_auto(&mut self, on: bool) {
        self.off = !on;
        self.failures = 0;
        self.job = None;
    }

    /// Takes up how an attempt went; returns whether the next ones are given up.
    pub fn count(&mut self, good: bool) -> bool {
        self.failures = if good { 0 } else { self.failures + 1 };
        self.failures >= MAX_FAILURES
    }

    /// Another attempt is wanted: earlier failures no longer count.
    pub fn forgive(&mut self) {
        self.failures = 0;
    }

    /// Whether no summary is to be begun by itself.
    pub fn resting(&self) -> bool {
        self.off || self.failures >= MAX_FAILURES
    }
}

/// A summary being written.
pub struct Job {
    /// The entries it covers, and the first that stays: it holds for exactly these.
    pub covers: Vec<ItemId>,
    pub before: ItemId,
    pub task: JoinHandle<Summarised>,
}

impl Drop for Job {
    fn drop(&mut self) {
        // A stalled server can hold up neither a turn nor the exit.
        self.task.abort();
    }
}

/// Waits for the summary; `None` when it was interrupted. Its own time-out bounds the wait.
pub async fn finished(job: &mut Job, control: &TurnControl, events: &Events) -> Option<Summarised> {
    let waits = !job.task.is_finished();
    if waits {
        let _ = events.send(Event::Compacting { running: true });
    }
    let done = tokio::select! {
        done = &mut job.task => done.ok(),
        () = control.cancel.cancelled() => None,
    };
    if waits {
        let _ = events.send(Event::Compacting { running: false });
    }
    done
}
