//! Writes a transcript as our log. Summarized parts stay in the log for `Recall`. Secrets are redacted before
//! anything is written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::transcript::{RecordedImage, RecordedReply, RecordedResult, ReplyBlock, Step, Transcript};
use base::config::provider::image_tokens::image_tokens;
use base::format::picture;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, EnvelopeError, ErrorCode, Status};
use base::model::item::{Image, Item, ItemId, Reasoning, Summary, ToolResult, UserMessage};
use base::protocol::event::TurnEnd;
use base::search::words::listed;
use context::history::entry::HistoryEntry;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::{CauseKind, ItemRecord, Record, RequestRecord, SessionOrigin};
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;
use tools::api::Tool;
use tools::registry;

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

/// With `requests`, each reply is followed by its usage, and summaries are left out: a recording for replay.
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
            // A summary that was summarized again isn't needed.
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
    /// 0-based; item ids start at 1.
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

// Translates calls of other agents' tools into ours where every argument has a counterpart, by the tables that also
// translate a live model's calls: then we know what they read and changed, can use shorter forms and `Recall`, and
// the model sees familiar names. Other calls keep their names.

/// The tools that other agents have too.
const SHARED: &str = "Read Edit MultiEdit Write Bash Grep Glob LS TodoWrite";
/// Arguments that change nothing of what a call did.
const IDLE: &str =
    "justification yield_time_ms max_output_tokens tty login sandbox_permissions with_escalated_permissions";

#[derive(Clone, Debug, PartialEq)]
struct OurCall {
    tool: String,
    args: Value,
    /// Result data: path, command, pattern, lines, todos.
    data: Map<String, Value>,
}

struct CallTranslator(Vec<Box<dyn Tool>>);

impl Default for CallTranslator {
    fn default() -> Self {
        let mut tools = registry::builtin();
        tools.retain(|tool| listed(SHARED, tool.name()));
        Self(tools)
    }
}

impl CallTranslator {
    fn ours(&self, name: &str, args: &Value, folder: Option<&Path>) -> OurCall {
        let ours =
            registry::find(&self.0, name).ok().and_then(|tool| Some((tool.name(), translated(tool, args)?)));
        match ours {
            Some((tool, args)) => {
                let data = data(tool, &args, folder);
                OurCall { tool: tool.to_owned(), args, data }
            }
            None => OurCall { tool: name.to_owned(), args: args.clone(), data: Map::new() },
        }
    }
}

/// `None` if an argument has no counterpart. What else a list of todos says isn't missed.
fn translated(tool: &dyn Tool, args: &Value) -> Option<Value> {
    let (args, ignored) = tool.translated(args.clone())?;
    let nothing_lost = tool.name() == "TodoWrite" || ignored.iter().all(|key| listed(IDLE, key));
    nothing_lost.then_some(args)
}

fn data(tool: &str, args: &Value, folder: Option<&Path>) -> Map<String, Value> {
    let mut data = Map::new();
    for key in ["path", "command", "pattern"] {
        if let Some(text) = args.get(key).and_then(Value::as_str) {
            let inside = folder.and_then(|folder| Path::new(text).strip_prefix(folder).ok());
            let shown = inside.filter(|_| key == "path").map_or(text.into(), |path| path.to_string_lossy());
            data.insert(key.to_owned(), shown.into());
        }
    }
    if tool == "Read" {
        let number = |key: &str| args.get(key).and_then(Value::as_u64);
        let start = number("start_line");
        if start.is_some() || number("limit").is_some() {
            let start = start.unwrap_or(1);
            data.insert("start_line".to_owned(), start.into());
            if let Some(limit) = number("limit") {
                data.insert("end_line".to_owned(), start.saturating_add(limit).saturating_sub(1).into());
            }
        }
    }
    if tool == "TodoWrite" {
        data.insert("todos".to_owned(), args["todos"].clone());
    }
    data
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_said_in_our_words() {
        let folder = Path::new("/w");
        let of = |name: &str, args: Value| {
            let call = CallTranslator::default().ours(name, &args, Some(folder));
            (call.tool, call.args)
        };
        let edit = json!({"path": "/w/a", "edits": [{"old_string": "x", "new_string": "y"}]});
        for (name, args) in [
            ("Edit", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"})),
            (
                "replace",
                json!({"file_path": "/w/a", "old_string": "x", "new_string": "y", "instruction": "do"}),
            ),
            ("edit", json!({"filePath": "/w/a", "oldString": "x", "newString": "y"})),
        ] {
            assert_eq!(of(name, args), ("Edit".to_owned(), edit.clone()));
        }
        for (name, args) in [
            ("exec_command", json!({"cmd": "make", "yield_time_ms": 10})),
            ("shell", json!({"command": ["bash", "-lc", "make"]})),
            ("run_shell_command", json!({"command": "make", "description": "build"})),
        ] {
            assert_eq!(of(name, args), ("Bash".to_owned(), json!({"command": "make"})));
        }
        let plan = json!({"plan": [{"step": "fix", "status": "in_progress"}], "explanation": "so"});
        assert_eq!(
            of("update_plan", plan).1,
            json!({"todos": [{"content": "fix", "status": "in_progress"}], "summary": "so"})
        );
        let other = json!({"file_path": "/w/a", "pages": "1-3"});
        assert_eq!(of("Read", other.clone()), ("Read".to_owned(), other), "pages have no counterpart");
        let read = CallTranslator::default().ours(
            "read",
            &json!({"filePath": "/w/src/a", "offset": 5, "limit": 3}),
            Some(folder),
        );
        assert_eq!(Value::Object(read.data), json!({"path": "src/a", "start_line": 5, "end_line": 7}));
    }
}
