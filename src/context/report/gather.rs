//! The figures of many sessions: several threads, each reading one log after another.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;

use super::figures::Figures;
use super::session::{self, SessionReport};
use crate::session::list;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub sessions: Vec<SessionReport>,
    pub total: Figures,
    pub unreadable: usize,
}

impl Report {
    pub fn of_log(log: &Path) -> io::Result<Self> {
        let session = session::read(log, 0)?;
        Ok(Self::sum(session.into_iter().collect(), 0))
    }

    /// What was done in these state folders since then, in milliseconds since the Unix epoch.
    pub fn since(states: &[PathBuf], since: u64) -> Self {
        let logs: Vec<PathBuf> = states.iter().flat_map(|state| list::changed_since(state, since)).collect();
        Self::of_logs(&logs, since)
    }

    pub fn of_logs(logs: &[PathBuf], since: u64) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut read = Vec::new();
            while let Some(log) = logs.get(next.fetch_add(1, Ordering::Relaxed)) {
                read.push(session::read(log, since));
            }
            read
        };
        let results: Vec<io::Result<Option<SessionReport>>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
        });
        let unreadable = results.iter().filter(|result| result.is_err()).count();
        Self::sum(results.into_iter().flatten().flatten().collect(), unreadable)
    }

    fn sum(mut sessions: Vec<SessionReport>, unreadable: usize) -> Self {
        sessions.sort_by(|a, b| a.began_ms.cmp(&b.began_ms).then_with(|| a.id.cmp(&b.id)));
        let mut total = Figures::default();
        sessions.iter().for_each(|session| total.add(&session.figures));
        Self { sessions, total, unreadable }
    }
}
