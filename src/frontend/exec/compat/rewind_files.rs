//! `rewind_files`: the files as they were before a message of the program (`RewindFilesResult` of
//! `@anthropic-ai/claude-agent-sdk` 0.3.332). The conversation stays.

use serde_json::{Value, json};

use super::host::response;
use base::protocol::event::{Event, Level};
use base::protocol::op::{Op, Undo};
use base::protocol::rewind::{PointId, RewindPreview, RewindScope};

#[derive(Default)]
pub struct FileRewinds(Option<AskedRewind>);

pub struct SentUserMessage {
    pub id: String,
    pub begins_turn: bool,
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
    pub fn ask(&mut self, id: &str, request: &Value, sent: &[SentUserMessage]) -> RewindStep {
        let dry_run = request["dry_run"] == true;
        let answer = match sent.iter().position(|message| request["user_message_id"] == *message.id) {
            _ if self.0.is_some() => cannot(dry_run, "another rewind is under way; wait for its answer"),
            None => cannot(dry_run, "no such user message; use the uuid of a replayed one"),
            Some(at) => {
                let later = &sent[at + usize::from(!sent[at].begins_turn)..];
                match later.iter().filter(|message| message.begins_turn).count() {
                    _ if later.first().is_some_and(|next| !next.begins_turn) => cannot(
                        dry_run,
                        "files can be rewound only to the start of a turn; use the uuid of a prompt",
                    ),
                    0 => Ok(json!({"canRewind": true, "filesChanged": [], "insertions": 0, "deletions": 0})),
                    turns_since => {
                        let id = id.to_owned();
                        self.0 = Some(AskedRewind { id, turns_since, dry_run, preview: None });
                        return RewindStep::Op(Undo::ListPoints.into());
                    }
                }
            }
        };
        RewindStep::Answer(response(id, answer))
    }

    pub fn event(&mut self, event: &Event) -> Option<RewindStep> {
        let asked = self.0.as_mut()?;
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
        let id = self.0.take()?.id;
        Some(RewindStep::Answer(response(&id, answer)))
    }
}

/// Fails outside of dry runs, so that callers that ignore the answer don't take it as done.
fn cannot(dry_run: bool, error: &str) -> Result<Value, String> {
    if dry_run { Ok(json!({"canRewind": false, "error": error})) } else { Err(error.to_owned()) }
}

fn changed(preview: &RewindPreview, paths: Vec<String>) -> Value {
    let rows = || preview.rows.iter().filter(|row| paths.contains(&row.path));
    let (plus, minus): (u32, u32) = (rows().map(|row| row.plus).sum(), rows().map(|row| row.minus).sum());
    json!({"canRewind": true, "filesChanged": paths, "insertions": plus, "deletions": minus})
}
