//! The common form of imported sessions: user messages, replies with calls and results, and summaries. A
//! result belongs to the reply with its call, even if it arrived later.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use base::model::usage::Usage;
use base::text;

/// Longer texts lose their middle.
const MAX_TEXT_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub struct Transcript {
    pub id: String,
    pub folder: Option<PathBuf>,
    pub side: bool,
    pub steps: Vec<Step>,
    /// Unreadable lines and lines of unknown kind.
    pub unknown: usize,
    /// The step from which the next summary keeps everything.
    pub kept_at: Option<usize>,
    pub calls: HashMap<String, usize>,
    /// Returned if a reply is required but missing.
    spare: RecordedReply,
}

#[derive(Debug)]
pub enum Step {
    User {
        ms: u64,
        text: String,
        images: Vec<RecordedImage>,
    },
    Reply(RecordedReply),
    /// From here on, the model saw the summary instead of the steps before `kept`.
    Compacted {
        summary: String,
        kept: usize,
    },
}

#[derive(Clone, Debug)]
pub struct RecordedImage {
    pub name: String,
    pub data: String,
}

#[derive(Debug, Default)]
pub struct RecordedReply {
    key: String,
    pub ms: u64,
    pub model: String,
    pub usage: Option<Usage>,
    pub parts: Vec<ReplyBlock>,
    pub results: Vec<RecordedResult>,
}

#[derive(Debug)]
pub enum ReplyBlock {
    Reasoning(String),
    Text(String),
    Call { id: String, name: String, args: Value },
}

#[derive(Debug, Default)]
pub struct RecordedResult {
    pub call: String,
    pub text: String,
    pub failed: bool,
    pub exit_code: Option<i64>,
    pub images: Vec<RecordedImage>,
}

impl Transcript {
    pub fn of(id: &str, folder: Option<PathBuf>, side: bool) -> Self {
        Self { id: id.to_owned(), folder, side, ..Self::default() }
    }

    pub fn user(&mut self, ms: u64, text: &str, images: Vec<RecordedImage>) {
        if !text.trim().is_empty() || !images.is_empty() {
            self.steps.push(Step::User { ms, text: bounded(text), images });
        }
    }

    /// The reply with this key: the current one, or a new one.
    pub fn reply(&mut self, key: &str, ms: u64, model: &str) -> &mut RecordedReply {
        let same = matches!(self.steps.last(), Some(Step::Reply(reply)) if reply.key == key);
        if !same {
            let reply = RecordedReply {
                key: key.to_owned(),
                ms,
                model: model.to_owned(),
                ..RecordedReply::default()
            };
            self.steps.push(Step::Reply(reply));
        }
        match self.steps.last_mut() {
            Some(Step::Reply(reply)) => reply,
            _ => &mut self.spare,
        }
    }

    /// Adds a call to the reply with this key; ignores repeated calls.
    pub fn call(&mut self, key: &str, ms: u64, model: &str, call: (String, &str, Value)) {
        let (id, name, args) = call;
        if id.is_empty() || self.calls.contains_key(&id) {
            return;
        }
        self.reply(key, ms, model).parts.push(ReplyBlock::Call {
            id: id.clone(),
            name: name.to_owned(),
            args,
        });
        self.calls.insert(id, self.steps.len() - 1);
    }

    /// Adds a call's first result; returns whether the call exists.
    pub fn result(&mut self, mut result: RecordedResult) -> bool {
        let step = self.calls.get(&result.call).and_then(|at| self.steps.get_mut(*at));
        let Some(Step::Reply(reply)) = step else { return false };
        if !reply.results.iter().any(|known| known.call == result.call) {
            result.text = bounded(&result.text);
            reply.results.push(result);
        }
        true
    }

    pub fn last_reply(&mut self) -> Option<&mut RecordedReply> {
        self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Reply(reply) => Some(reply),
            _ => None,
        })
    }

    pub fn told_reply(&mut self, key: &str) -> Option<&mut RecordedReply> {
        self.last_reply().filter(|reply| reply.key == key)
    }

    pub fn compacted(&mut self, summary: &str, kept: Option<usize>) {
        let kept = kept.unwrap_or(self.steps.len()).min(self.steps.len());
        self.steps.push(Step::Compacted { summary: bounded(summary), kept });
    }

    pub fn rewind(&mut self, turns: usize) {
        let begins = |(at, step): (usize, &Step)| matches!(step, Step::User { .. }).then_some(at);
        let turns =
            turns.checked_sub(1).map(|back| self.steps.iter().enumerate().rev().filter_map(begins).nth(back));
        if let Some(at) = turns {
            let at = at.unwrap_or(0);
            self.steps.truncate(at);
            self.calls.retain(|_, step| *step < at);
        }
    }

    pub fn title(&self) -> String {
        let first = self.steps.iter().find_map(|step| match step {
            Step::User { text, .. } => Some(text.as_str()),
            _ => None,
        });
        text::one_line(first.unwrap_or_default(), 80)
    }

    pub fn replies(&self) -> impl Iterator<Item = &RecordedReply> {
        self.steps.iter().filter_map(|step| match step {
            Step::Reply(reply) => Some(reply),
            _ => None,
        })
    }
}

impl RecordedReply {
    pub fn say(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.parts.push(ReplyBlock::Text(bounded(text)));
        }
    }

    /// Adds non-empty reasoning without the vendor's signature, which is valid only in its own request.
    pub fn think(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.parts.push(ReplyBlock::Reasoning(bounded(text)));
        }
    }
}

fn bounded(long: &str) -> String {
    if long.len() <= MAX_TEXT_BYTES {
        return long.to_owned();
    }
    let head = long.floor_char_boundary(MAX_TEXT_BYTES / 2);
    let tail = long.ceil_char_boundary(long.len() - MAX_TEXT_BYTES / 2);
    format!(
        "{}\n[… {} left out …]\n{}",
        &long[..head],
        text::human_bytes((tail - head) as u64),
        &long[tail..]
    )
}
