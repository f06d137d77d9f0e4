//! `rewind_files`: the files as they were before a message of the program (`RewindFilesResult` of
//! `@anthropic-ai/claude-agent-sdk` 0.3.332). The conversation stays.

use serde_json::{Value, json};

use super::host::response;
use base::protocol::event::{Event, Level};
use base::protocol::op::{Op, Undo};
use base::protocol::rewind::{PointId, RewindPreview, RewindScope};

#[derive(Default)]
pub struct FileRewinds {
    began_turns: Vec<String>,
    asked: Option<AskedRewind>,
}

struct AskedRewind {
    id: String,
    turns_since: usize,
    dry_run: bool,
    preview: Option<RewindPreview>,
}

pub enum RewindStep {
    Op(Op),
    Answer(Value),
}

impl FileRewinds {
    pub fn began(&mut self, message: String) {
        self.began_turns.push(message);
    }

    pub fn ask(&mut self, id: &str, request: &Value) -> RewindStep {
        let known = self.began_turns.iter().position(|message| request["user_message_id"] == **message);
        let error = match known {
            _ if self.asked.is_some() => "another rewind is under way; wait for its answer",
            None => "no turn began with this message; take the uuid of a replayed user message",
            Some(at) => {
                let (turns_since, dry_run) = (self.began_turns.len() - at, request["dry_run"] == true);
                self.asked = Some(AskedRewind { id: id.to_owned(), turns_since, dry_run, preview: None });
                return RewindStep::Op(Undo::ListPoints.into());
            }
        };
        RewindStep::Answer(response(id, cannot(request["dry_run"] == true, error)))
    }

    pub fn event(&mut self, event: &Event) -> Option<RewindStep> {
        let asked = self.asked.as_mut()?;
        let answer = match event {
            Event::RewindPoints(points) => {
                let mut turns = points.iter().filter(|point| matches!(point.id, PointId::Turn(_)));
                match turns.nth(asked.turns_since - 1) {
                    Some(point) => {
                        return Some(RewindStep::Op(Undo::PreviewRewind { point: point.id }.into()));
                    }
                    None => cannot(asked.dry_run, "the state before this message is no longer on record"),
                }
            }
            Event::RewindPreview(preview) if asked.dry_run => {
                let paths = preview.rows.iter().map(|row| row.path.clone()).collect();
                Ok(changed(preview, paths))
            }
            Event::RewindPreview(preview) => {
                asked.preview = Some(preview.clone());
                let (point, part) = (preview.point.id, RewindScope::Files);
                return Some(RewindStep::Op(Undo::Rewind { point, part, force: false }.into()));
            }
            Event::Rewound(done) => match (&asked.preview, done.left.first()) {
                (_, Some((path, why))) if done.done.is_empty() => Err(format!("{path}: {why}")),
                (Some(preview), _) => Ok(changed(preview, done.done.clone())),
                (None, _) => return None,
            },
            Event::Notice { level: Level::Error, text } => cannot(asked.dry_run, text),
            _ => return None,
        };
        let id = self.asked.take()?.id;
        Some(RewindStep::Answer(response(&id, answer)))
    }
}

/// An error, so that a caller who looks at no answer doesn't believe that it was done.
fn cannot(dry_run: bool, error: &str) -> Result<Value, String> {
    if dry_run { Ok(json!({"canRewind": false, "error": error})) } else { Err(error.to_owned()) }
}

fn changed(preview: &RewindPreview, paths: Vec<String>) -> Value {
    let rows = || preview.rows.iter().filter(|row| paths.contains(&row.path));
    let (plus, minus): (u32, u32) = (rows().map(|row| row.plus).sum(), rows().map(|row| row.minus).sum());
    json!({"canRewind": true, "filesChanged": paths, "insertions": plus, "deletions": minus})
}
