//! Replays recordings under policies on all cores, and sums up cost and retention per source.

use std::io;
use std::path::{Path, PathBuf};

use super::metrics::measure::{Meter, SentRequest, Sums};
use super::metrics::originals::SourceTexts;
use super::policy::Policy;
use super::recording::events::{self, ReplayEvent};
use super::recording::reader;
use super::simulate::{self, ReplayOptions};
use base::config::settings::ContextSettings;
use base::parallel;

pub struct RecordedSession {
    pub source: String,
    pub events: Vec<ReplayEvent>,
    pub skipped: usize,
}

impl RecordedSession {
    pub fn of_recording(path: &Path) -> io::Result<Self> {
        let recording = reader::read(path)?;
        let (source, skipped) = (recording.source().to_owned(), recording.skipped);
        Ok(Self { source, events: events::of_recording(&recording), skipped })
    }

    pub fn of_log(path: &Path) -> io::Result<Self> {
        let log = context::session::reader::read(path)?;
        Ok(Self { source: "log".to_owned(), events: events::of_session(&log.records), skipped: log.skipped })
    }
}

#[derive(Clone, Debug)]
pub struct Comparison {
    pub policies: Vec<Policy>,
    pub settings: ContextSettings,
    pub options: ReplayOptions,
}

#[derive(Clone, Debug, Default)]
pub struct PolicySums {
    pub sessions: usize,
    pub raw: Sums,
    pub by_policy: Vec<Sums>,
}

impl PolicySums {
    pub fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.raw.add(&other.raw);
        self.by_policy.resize_with(other.by_policy.len(), Sums::default);
        for (mine, theirs) in self.by_policy.iter_mut().zip(&other.by_policy) {
            mine.add(theirs);
        }
    }
}

impl Comparison {
    /// Replays one session; `sink` gets each request as sent.
    pub fn session(
        &self,
        session: &RecordedSession,
        mut sink: impl FnMut(usize, &[SentRequest]),
    ) -> PolicySums {
        let originals = SourceTexts::of(&session.events);
        let play = |policy: Policy, originals: &SourceTexts, sink: &mut dyn FnMut(usize, &[SentRequest])| {
            let mut meter = Meter::new(originals, self.settings.window_tokens, &self.options);
            simulate::play(&session.events, policy, &self.settings, &self.options, |request| {
                sink(request.n, meter.record(request));
            });
            meter.finish()
        };
        let by_policy: Vec<Sums> =
            self.policies.iter().map(|policy| play(*policy, &originals, &mut sink)).collect();
        let raw = match self.policies.iter().position(|policy| *policy == Policy::Raw) {
            Some(at) => by_policy[at].clone(),
            // Only the cost of `raw` is needed, so no texts.
            None => play(Policy::Raw, &SourceTexts::default(), &mut |_, _| {}),
        };
        PolicySums { sessions: 1, raw, by_policy }
    }

    /// Replays the files in parallel; returns the source and sums of each, in the order of the files.
    pub fn sessions(
        &self,
        files: &[PathBuf],
        read: impl Fn(&Path) -> io::Result<RecordedSession> + Sync,
    ) -> Result<Vec<(String, PolicySums)>, (PathBuf, io::Error)> {
        let replayed = parallel::map(files, files.len(), |file| {
            let session = read(file).map_err(|error| (file.clone(), error))?;
            let sums = self.session(&session, |_, _| {});
            Ok((session.source, sums))
        });
        replayed.into_iter().collect()
    }
}
