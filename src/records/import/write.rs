//! Writes a transcript as our log. Summarized parts stay in the log for `Recall`. Secrets are redacted before
//! anything is written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::calls::{CallTranslator, OurCall};
use super::transcript::{RecordedImage, RecordedReply, RecordedResult, ReplyBlock, Step, Transcript};
use base::config::provider::image_tokens::image_tokens;
use base::format::picture;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, EnvelopeError, ErrorCode, Status};
use base::model::item::{Image, Item, ItemId, Reasoning, Summary, ToolResult, UserMessage};
use base::protocol::event::TurnEnd;
use context::history::entry::HistoryEntry;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::{CauseKind, ItemRecord, Record, RequestRecord, SessionOrigin};
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;

/// Writes the transcript as a new session of `workspace`; returns its log.
pub fn write(
    told: &Transcript,
    agent: &str,
    project_state: &Path,
    workspace: &Path,
) -> Result<PathBuf, LogError> {
    let origin = SessionOrigin { agent: agent.to_owned(), session: told.id.clone() };
    let mut log =
        SessionLog::create(project_state, &log::new_id(), workspace, |meta| meta.origin = Some(origin))?;
    let written = records(told, false).iter().try_for_each(|record| log.append(record));
    if let Err(error) = written {
        let _ = std::fs::remove_file(log.path());
        return Err(error);
    }
    Ok(log.path().to_owned())
}

/// With `requests`, each reply is followed by its usage, and summaries are left out, for replay.
pub fn records(told: &Transcript, requests: bool) -> Vec<Record> {
    let last_summary = told.steps.iter().rposition(|step| matches!(step, Step::Compacted { .. }));
    let mut writer = Writer { folder: told.folder.as_deref(), ..Writer::default() };
    let mut begins = Vec::with_capacity(told.steps.len());
    for (at, step) in told.steps.iter().enumerate() {
        begins.push(writer.next);
        match step {
            Step::User { ms, text, images } => {
                writer.end_turn(*ms);
                writer.ms = *ms;
                writer.item(Item::User(UserMessage::new(&writer.redactor.redact_typed(text))));
                images.iter().for_each(|image| writer.image(image));
                writer.in_turn = true;
            }
            Step::Reply(reply) => {
                writer.reply(reply);
                if requests && !reply.parts.is_empty() {
                    writer.records.push(Record::Request(RequestRecord {
                        ms: reply.ms,
                        model: reply.model.clone(),
                        estimated: 0,
                        usage: reply.usage,
                        window: None,
                    }));
                }
            }
            // A summary that was itself summarized isn't needed.
            Step::Compacted { summary, kept } if Some(at) == last_summary && !requests => {
                writer.archive(summary, begins.get(*kept).copied());
            }
            Step::Compacted { .. } => {}
        }
    }
    writer.end_turn(writer.ms);
    writer.records
}

#[derive(Default)]
struct Writer<'a> {
    folder: Option<&'a Path>,
    redactor: Redactor,
    translator: CallTranslator,
    records: Vec<Record>,
    next: u64,
    ms: u64,
    in_turn: bool,
    turns: usize,
    steps: u32,
}

impl Writer<'_> {
    fn item(&mut self, item: Item) {
        let item = std::sync::Arc::new(item);
        self.next += 1;
        let id = ItemId(self.next);
        let tokens = HistoryEntry::new(id, std::sync::Arc::clone(&item), None, 0).full_tokens();
        self.records.push(Record::Item(ItemRecord { id, ms: self.ms, tokens, item }));
    }

    fn end_turn(&mut self, ms: u64) {
        if !std::mem::take(&mut self.in_turn) {
            return;
        }
        self.turns += 1;
        let end = TurnEnd { steps: std::mem::take(&mut self.steps), ..TurnEnd::default() };
        self.records.push(Record::TurnEnd { ms, end, turn: self.turns, cost_usd: None });
    }

    fn reply(&mut self, reply: &RecordedReply) {
        self.ms = reply.ms;
        self.steps += 1;
        let mut called: HashMap<&str, OurCall> = HashMap::new();
        for part in &reply.parts {
            let mut item = match part {
                ReplyBlock::Text(text) => Item::assistant(text.as_str()),
                ReplyBlock::Reasoning(text) => {
                    Item::Reasoning(Reasoning { text: text.as_str().into(), opaque: None })
                }
                ReplyBlock::Call { id, name, args } => {
                    let call = self.translator.ours(name, args, self.folder);
                    let args = call.args.to_string().into();
                    let item = Item::ToolCall(ToolCall {
                        id: id.as_str().into(),
                        name: call.tool.as_str().into(),
                        args,
                    });
                    called.insert(id, call);
                    item
                }
            };
            self.redactor.redact_reply(&mut item);
            self.redactor.redact_reasoning(&mut item);
            self.item(item);
        }
        let mut images = Vec::new();
        // In the order of the calls; a call without a result was interrupted.
        for part in &reply.parts {
            let ReplyBlock::Call { id, .. } = part else { continue };
            let Some(call) = called.remove(id.as_str()) else { continue };
            let given = reply.results.iter().find(|result| result.call == *id);
            images.extend(given.into_iter().flat_map(|given| &given.images));
            let mut result = result(id, call, given);
            self.redactor.redact_envelope(&mut result.envelope);
            self.item(Item::ToolResult(result));
        }
        images.into_iter().for_each(|image| self.image(image));
    }

    /// Pictures that can't be decoded are skipped.
    fn image(&mut self, given: &RecordedImage) {
        let Some(picture) =
            STANDARD.decode(&given.data).ok().and_then(|bytes| picture::from_bytes(bytes).ok())
        else {
            return;
        };
        let (width, height) = (picture.width, picture.height);
        self.item(Item::Image(Image {
            path: self.redactor.redact(&given.name, TextSource::Text).into_owned().into(),
            media_type: picture.media_type.into(),
            width,
            height,
            tokens: image_tokens("", width, height),
            data: picture.data.into(),
        }));
    }

    fn archive(&mut self, summary: &str, kept: Option<u64>) {
        let text = self.redactor.redact(summary, TextSource::Text).into_owned();
        let before = ItemId(kept.unwrap_or(self.next) + 1);
        self.next += 1;
        self.records.push(Record::Archive {
            before,
            id: Some(ItemId(self.next)),
            summary: Summary { text: text.into(), state: Value::Null },
            cause: CauseKind::Compaction.because("summarized before the import"),
        });
    }
}

fn result(id: &str, call: OurCall, given: Option<&RecordedResult>) -> ToolResult {
    let mut envelope = match given {
        None => Envelope::error(ErrorCode::Interrupted, "the call was cut off; its effect is unknown"),
        Some(given) if given.failed && given.exit_code.is_none() => {
            let mut envelope = Envelope::success("").with_body("content", given.text.as_str());
            envelope.status = Status::Error;
            let message = "the call failed".to_owned();
            envelope.error = Some(EnvelopeError { code: ErrorCode::ExecutionError, message });
            envelope
        }
        Some(given) if given.text.trim().is_empty() => Envelope::success("no output"),
        Some(given) => Envelope::success("").with_body("content", given.text.as_str()),
    };
    envelope.data = call.data.into();
    if envelope.status == Status::Error {
        // A rejected list doesn't count.
        envelope.data.more.remove("todos");
    }
    let code = given.and_then(|given| given.exit_code);
    if let Some(code) = code {
        envelope = envelope.with("exit_code", code).partial_if(code != 0);
    }
    if let Some(code) = code.filter(|code| *code != 0) {
        envelope.text = format!("exit code {code}");
    }
    ToolResult::new(id, call.tool, envelope)
}
