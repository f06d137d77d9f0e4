//! A summary in the making: a task beside the session, aborted when nobody wants it any more.

use tokio::task::JoinHandle;

use crate::agent::control::{Events, TurnControl};
use crate::context::summary::compressor::SummaryOutcome;
use crate::model::item::ItemId;
use crate::protocol::event::Event;

/// Failures in a row after which summaries are no longer tried by themselves.
const MAX_FAILURES: u32 = 2;

/// What the archivist is at.
#[derive(Default)]
pub struct SummaryTasks {
    pub job: Option<SummaryTask>,
    failures: u32,
    /// The user does not want summaries to be made by themselves.
    off: bool,
}

impl SummaryTasks {
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
pub struct SummaryTask {
    /// The entries it covers, and the first that stays: it holds for exactly these.
    pub covers: Vec<ItemId>,
    pub before: ItemId,
    pub task: JoinHandle<SummaryOutcome>,
}

impl Drop for SummaryTask {
    fn drop(&mut self) {
        // A stalled server can hold up neither a turn nor the exit.
        self.task.abort();
    }
}

/// Waits for the summary; `None` when it was interrupted. Its own time-out bounds the wait.
pub async fn finished(
    job: &mut SummaryTask,
    control: &TurnControl,
    events: &Events,
) -> Option<SummaryOutcome> {
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
