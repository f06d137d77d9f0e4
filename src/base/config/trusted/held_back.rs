//! Rules files that appeared or changed while an agent's command ran, which could be used to steer the model.
//! They are used only after the user approves, and only with that content. Always-sent files are compared
//! before and after each command; for others, the ctime (which no program can set) shows whether they changed
//! while a command ran.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::config::paths::project_in;
use crate::folder::atomic_write::{self, Expect};
use crate::folder::update::update;
use crate::format::path_text;
use crate::system::os;
use crate::{clock, file};

const HELD: &str = "held-back-rules.json";
const RELEASED: &str = "released-rules.json";
const BEFORE: &str = "rules-before-command.json";
const TIMES: &str = "command-times";

const MAX_BYTES: u64 = 1024 * 1024;

/// Only the last part of the command times is read.
const TIMES_BYTES: u64 = 256 * 1024;
/// The kernel's file clock can lag by this much.
const CLOCK_MS: u64 = 20;

pub type RulesHashes = BTreeMap<PathBuf, String>;

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(with = "path_text")]
    path: PathBuf,
    hash: String,
}

#[derive(Clone, Debug)]
pub struct HeldBack {
    folder: PathBuf,
    /// State folders of projects around this one, whose commands can write here.
    around: Vec<PathBuf>,
}

impl HeldBack {
    pub fn new(project_state: &Path) -> Self {
        Self { folder: project_state.to_owned(), around: Vec::new() }
    }

    #[must_use]
    pub fn of_workspace(mut self, workspace: &Path) -> Self {
        let projects = self.folder.parent().unwrap_or(&self.folder);
        let around = workspace.ancestors().skip(1).map(|folder| project_in(projects, folder));
        self.around = around.filter(|state| state.join(TIMES).exists()).collect();
        self
    }

    /// The files for this project, and for the user's own rules in all projects.
    fn files(&self) -> [PathBuf; 2] {
        [&*self.folder, self.folder.parent().unwrap_or(&self.folder)].map(|folder| folder.join(HELD))
    }

    pub fn list(&self) -> RulesHashes {
        let [here, own] = self.files();
        let released = read(&self.folder.join(RELEASED));
        let mut all = read(&own);
        all.retain(|path, hash| released.get(path) != Some(hash));
        all.extend(read(&here));
        all
    }

    /// Rules outside the project (not below `root`) are held back in all projects.
    pub fn add(&self, root: &Path, more: RulesHashes) -> io::Result<()> {
        let (here, own): (RulesHashes, _) = more.into_iter().partition(|(path, _)| path.starts_with(root));
        let groups = self.files().into_iter().zip([here, own]);
        groups.filter(|(_, group)| !group.is_empty()).try_for_each(|(file, group)| add(&file, group))
    }

    /// Releases all held-back files, for this project only.
    pub fn release(&self) -> io::Result<()> {
        let held = self.list();
        if !held.is_empty() {
            add(&self.folder.join(RELEASED), held)?;
        }
        file::remove(&self.folder.join(HELD))
    }

    /// Whether this content was last changed while a command ran, and the user hasn't released it since.
    pub fn is_planted(&self, path: &Path, hash: &str) -> bool {
        self.is_planted_by(&self.folder, path, hash) || self.is_planted_around(path, hash)
    }

    /// The same for commands in the surrounding projects.
    pub fn is_planted_around(&self, path: &Path, hash: &str) -> bool {
        self.around.iter().any(|state| self.is_planted_by(state, path, hash))
    }

    fn is_planted_by(&self, state: &Path, path: &Path, hash: &str) -> bool {
        let Ok(meta) = fs::metadata(path) else { return false };
        let changed = u64::try_from(os::facts(&meta).changed_ns / 1_000_000).unwrap_or(0);
        let times = file::tail(&state.join(TIMES), TIMES_BYTES).unwrap_or_default();
        let during = |line: &str| {
            let (from, until) = line.split_once(' ')?;
            let (from, until): (u64, u64) = (from.parse().ok()?, until.parse().ok()?);
            Some((from.saturating_sub(CLOCK_MS)..=until + CLOCK_MS).contains(&changed))
        };
        let during = String::from_utf8_lossy(&times).lines().any(|line| during(line) == Some(true));
        let released =
            |state: &Path| read(&state.join(RELEASED)).get(path).is_some_and(|known| known == hash);
        during && !released(&self.folder) && !released(state)
    }

    pub fn end_command(&self, since: SystemTime) -> io::Result<()> {
        file::create_private_folder(&self.folder)?;
        let times = self.folder.join(TIMES);
        // At twice the size that is read, drop the older half.
        if fs::metadata(&times).is_ok_and(|meta| meta.len() > 2 * TIMES_BYTES) {
            let kept = file::tail(&times, TIMES_BYTES)?;
            atomic_write::write_private(&times, &kept, Expect::Anything).map_err(io::Error::other)?;
        }
        let mut times = file::open_private(fs::OpenOptions::new().append(true).create(true), &times)?;
        writeln!(times, "{} {}", clock::to_ms(since), clock::now_ms())
    }

    /// Records the rules files before a command, in case this session is killed while it runs.
    pub fn begin_command(&self, before: RulesHashes) -> io::Result<()> {
        // Not written atomically, which would wait for the disk: a torn file just holds everything back.
        file::create_private_folder(&self.folder)?;
        fs::write(self.folder.join(BEFORE), serde_json::to_vec(&rows(before))?)
    }

    /// The state recorded before an interrupted command, and when the command began; returned only once.
    pub fn take_before(&self) -> Option<(RulesHashes, SystemTime)> {
        let before = self.folder.join(BEFORE);
        let meta = before.symlink_metadata().ok()?;
        let known = read(&before);
        let _ = file::remove(&before);
        Some((known, meta.modified().unwrap_or_else(|_| SystemTime::now())))
    }
}

fn add(path: &Path, more: RulesHashes) -> io::Result<()> {
    update(path, |_| {
        let mut all = read(path);
        all.extend(more.clone());
        Ok(Some(serde_json::to_vec(&rows(all))?))
    })
}

fn read(path: &Path) -> RulesHashes {
    let text = file::small_text(path, MAX_BYTES).unwrap_or_default();
    let rows: Vec<Row> = serde_json::from_str(&text).unwrap_or_default();
    rows.into_iter().map(|row| (row.path, row.hash)).collect()
}

fn rows(hashes: RulesHashes) -> Vec<Row> {
    hashes.into_iter().map(|(path, hash)| Row { path, hash }).collect()
}
