//! What each turn in this project changed, as one line per turn in the project's state. Later sessions
//! find it by its words. No model is involved.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::clock;
use base::file;
use base::search::bm25::Corpus;
use base::search::fold::is_cjk;
use base::search::words::{self, Term};
use base::text::one_line;

const NAME: &str = "outcomes.jsonl";
const MOST: usize = 1_000;
const TASK_CHARS: usize = 100;
const SAID_CHARS: usize = 100;
const FILES: usize = 4;
/// Fewer shared words may be chance, unless a file name is among two of them.
const CLEAR_WORDS: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnOutcome {
    pub ms: u64,
    pub session: String,
    pub task: String,
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    pub said: String,
}

impl TurnOutcome {
    pub fn new(session: &str, task: &str, files: Vec<String>, check: Option<String>, answer: &str) -> Self {
        let first = answer.split_inclusive(['.', '!', '?', '\n', '。']).next().unwrap_or_default();
        Self {
            ms: clock::now_ms(),
            session: session.to_owned(),
            task: one_line(task, TASK_CHARS),
            files: files.into_iter().take(FILES).collect(),
            check,
            said: one_line(first, SAID_CHARS),
        }
    }

    /// Such as `2026-11-22 fix the login timeout (auth/session.py; pytest passed), session ab12`.
    pub fn line(&self) -> String {
        let day = clock::local_day(self.ms);
        let files = self.files.join(", ");
        let check = self.check.as_ref().map_or(String::new(), |check| format!("; {check}"));
        format!("{day} {} ({files}{check}), session {}", self.task, self.session)
    }
}

fn path(project_state: &Path) -> PathBuf {
    project_state.join(NAME)
}

pub fn append(project_state: &Path, outcome: &TurnOutcome) -> io::Result<()> {
    file::create_private_folder(project_state)?;
    let mut line = serde_json::to_vec(outcome)?;
    line.push(b'\n');
    let mut options = OpenOptions::new();
    file::open_private(options.append(true).create(true), &path(project_state))?.write_all(&line)
}

fn all(project_state: &Path) -> Vec<TurnOutcome> {
    let Ok(bytes) = file::read_own(&path(project_state)) else { return Vec::new() };
    let lines = bytes.rsplit(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).take(MOST).collect()
}

/// What each session changed, as one searchable text.
pub fn by_session(project_state: &Path) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    for outcome in all(project_state) {
        let text = found.entry(outcome.session.clone()).or_default();
        text.push_str(&format!("{} {} {}\n", outcome.task, outcome.files.join(" "), outcome.said));
    }
    found
}

/// The outcomes of other sessions that match, best first; with `clear`, only those that share enough.
pub fn find(
    project_state: &Path,
    session: &str,
    concepts: &[String],
    clear: bool,
    most: usize,
) -> Vec<TurnOutcome> {
    let wanted = words::telling(&concepts.join(" "));
    let outcomes: Vec<TurnOutcome> =
        all(project_state).into_iter().filter(|outcome| outcome.session != session).collect();
    let mut corpus = Corpus::only(&wanted);
    for outcome in &outcomes {
        corpus.add(&[(2.0, &outcome.task), (1.5, &outcome.files.join(" ")), (1.0, &outcome.said)]);
    }
    let shared = |matched: &[usize]| {
        let has = |term: &Term| matched.iter().any(|word| wanted[*word].text == term.text);
        let mut terms = concepts.iter().map(|concept| words::telling(concept));
        // Chinese and Japanese terms are pairs of characters.
        let (pairs, words): (Vec<Term>, Vec<Term>) = terms
            .next()
            .unwrap_or_default()
            .into_iter()
            .filter(has)
            .partition(|term| term.text.starts_with(is_cjk));
        let translated = terms.filter(|words| words.iter().any(has)).count();
        match pairs.len() {
            0 => words.len().max(translated),
            pairs => words.len() + pairs.div_ceil(2).max(translated),
        }
    };
    let enough = CLEAR_WORDS.min(shared(&(0..wanted.len()).collect::<Vec<_>>()).max(2));
    let names_file = |document: usize, word: &usize| {
        outcomes[document].files.iter().any(|file| file.to_lowercase().contains(&*wanted[*word].text))
    };
    let hits = corpus.rank(&wanted).into_iter().filter(|hit| {
        let named = || hit.matched.iter().any(|word| names_file(hit.document, word));
        !clear || shared(&hit.matched) >= enough || shared(&hit.matched) > 1 && named()
    });
    hits.take(most).map(|hit| outcomes[hit.document].clone()).collect()
}
