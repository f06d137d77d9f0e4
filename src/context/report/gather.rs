//! The figures of many sessions.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::figures::Figures;
use super::session::{self, SessionReport};
use crate::session::list;
use base::parallel;

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

    /// Figures of the sessions in these state folders since `since`, in milliseconds since the Unix epoch.
    pub fn since(states: &[PathBuf], since: u64) -> Self {
        let logs: Vec<PathBuf> = states.iter().flat_map(|state| list::changed_since(state, since)).collect();
        Self::of_logs(&logs, since)
    }

    pub fn of_logs(logs: &[PathBuf], since: u64) -> Self {
        let results = parallel::map(logs, 8, |log| session::read(log, since));
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
