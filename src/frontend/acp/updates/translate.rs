//! Agent events as session updates: streamed messages and thoughts, calls, the plan, window usage; and a stored session
//! in the form in which it was first shown.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ClientSessionCapabilities, CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Cost,
    ImageContent, MessageId, Notice, NoticeSeverity, Plan, SessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, Usage, UsageUpdate,
};

use crate::acp::updates::tool_call;
use base::model::item::{Item, ItemId};
use base::protocol::event::{Event, Level, WindowState};
use base::text::plural;

pub struct Translator {
    pub root: PathBuf,
    client: ClientSessionCapabilities,
    /// Numbers live messages; those of a stored session have other ids.
    message: u64,
    /// Whether part of the current message was already sent.
    said: bool,
    thought: bool,
    calls: HashSet<Arc<str>>,
    usage: Option<WindowState>,
    compaction: u64,
}

impl Translator {
    pub fn new(root: PathBuf, client: ClientSessionCapabilities) -> Self {
        let (calls, usage) = (HashSet::new(), None);
        Self { root, client, message: 0, said: false, thought: false, calls, usage, compaction: 0 }
    }

    fn chunk(&self, of: &str, text: impl Into<String>) -> ContentChunk {
        let id = MessageId::from(format!("{of}-{}", self.message));
        ContentChunk::new(tool_call::text(text)).message_id(id)
    }

    fn said(&self, text: impl Into<String>) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(self.chunk("message", text))
    }

    fn thought(&self, text: impl Into<String>) -> SessionUpdate {
        SessionUpdate::AgentThoughtChunk(self.chunk("thought", text))
    }

    fn alone(&mut self, update: impl Fn(&Self) -> SessionUpdate) -> SessionUpdate {
        self.message += 1;
        let update = update(self);
        self.message += 1;
        update
    }

    pub fn message(&mut self, text: impl Into<String>) -> SessionUpdate {
        let text = text.into();
        self.alone(|now| now.said(&text))
    }

    pub fn user(&mut self, text: &str) -> SessionUpdate {
        self.alone(|now| SessionUpdate::UserMessageChunk(now.chunk("message", text)))
    }

    /// Clients without notices get errors as messages and warnings as thoughts.
    pub fn notice(&mut self, level: Level, text: &str) -> Option<SessionUpdate> {
        if self.client.notices.is_some() {
            let severity = match level {
                Level::Info => NoticeSeverity::Info,
                Level::Warning => NoticeSeverity::Warning,
                Level::Error => NoticeSeverity::Error,
            };
            return Some(SessionUpdate::Notice(Notice::new(severity, text)));
        }
        match level {
            Level::Info => None,
            Level::Error => Some(self.message(text)),
            Level::Warning => Some(self.alone(|now| now.thought(text))),
        }
    }

    pub fn knows(&self, call: &str) -> bool {
        self.calls.contains(call)
    }

    pub fn shows_notices(&self) -> bool {
        self.client.notices.is_some()
    }

    pub fn updates(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::TextDelta(text) => {
                self.said = true;
                vec![self.said(text)]
            }
            Event::ReasoningDelta(text) => {
                self.thought = true;
                vec![self.thought(text)]
            }
            Event::Item { item, .. } => self.item(item),
            Event::Retrying { attempt, of, wait_ms, reason } => {
                (self.said, self.thought) = (false, false);
                self.message += 1;
                let seconds = plural(wait_ms.div_ceil(1000) as usize, "second");
                let text = format!("{reason}. Trying again in {seconds} ({attempt} of {of}).");
                self.notice(Level::Warning, &text).into_iter().collect()
            }
            Event::ToolWaiting { call_id, title } => {
                self.calls.insert(Arc::clone(call_id));
                let tool = title.split(' ').next().unwrap_or_default();
                vec![SessionUpdate::ToolCall(tool_call::begun(call_id, tool, title, "", &self.root))]
            }
            Event::ToolStarted { call_id, tool, title, args } => {
                let call = tool_call::begun(call_id, tool, title, args, &self.root);
                let call = call.status(ToolCallStatus::InProgress);
                vec![match self.calls.insert(Arc::clone(call_id)) {
                    true => SessionUpdate::ToolCall(call),
                    false => SessionUpdate::ToolCallUpdate(call.into()),
                }]
            }
            Event::ToolProgress { call_id, tail } if self.calls.contains(call_id) => {
                let fields = ToolCallUpdateFields::new().content(vec![tool_call::fenced(tail).into()]);
                vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id.to_string(), fields))]
            }
            Event::ToolDone { result, .. } => {
                let mut updates = Vec::new();
                if !self.calls.remove(&result.call_id) {
                    let call = tool_call::begun(&result.call_id, &result.tool, &result.tool, "", &self.root);
                    updates.push(SessionUpdate::ToolCall(call));
                }
                updates.push(SessionUpdate::ToolCallUpdate(tool_call::done(result, &self.root)));
                updates.extend(tool_call::plan(result).map(SessionUpdate::Plan));
                updates
            }
            Event::Window(window) => self.usage(window).into_iter().collect(),
            Event::Compacting { running } => self.compacting(*running).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// A finished message or thought is sent in full if nothing was streamed.
    fn item(&mut self, item: &Item) -> Vec<SessionUpdate> {
        let update = match item {
            Item::Assistant { text, .. } => (!std::mem::take(&mut self.said)).then(|| self.said(&**text)),
            Item::Reasoning(reasoning) => {
                let whole = !std::mem::take(&mut self.thought) && !reasoning.text.is_empty();
                whole.then(|| self.thought(&*reasoning.text))
            }
            _ => return Vec::new(),
        };
        self.message += 1;
        update.into_iter().collect()
    }

    pub fn total(&self) -> Option<Usage> {
        let total = self.usage.as_ref()?.total;
        let usage = Usage::new(total.input + total.output, total.input, total.output);
        let usage = usage.thought_tokens(total.reasoning).cached_read_tokens(total.cached);
        Some(usage.cached_write_tokens(total.cache_write))
    }

    fn usage(&mut self, window: &WindowState) -> Option<SessionUpdate> {
        if self.usage.as_ref() == Some(window) {
            return None;
        }
        self.usage = Some(*window);
        let cost = window.cost_usd.map(|amount| Cost::new(amount, "USD"));
        let update = UsageUpdate::new(window.used_tokens, window.window_tokens);
        Some(SessionUpdate::UsageUpdate(update.cost(cost)))
    }

    fn compacting(&mut self, running: bool) -> Option<SessionUpdate> {
        self.client.compaction.as_ref()?;
        self.compaction += u64::from(running);
        let status = if running { CompactionStatus::InProgress } else { CompactionStatus::Completed };
        let id = format!("compaction-{}", self.compaction);
        Some(SessionUpdate::CompactionUpdate(CompactionUpdate::new(id, status)))
    }
}

pub fn stored(items: &[(ItemId, Arc<Item>)], root: &Path) -> Vec<SessionUpdate> {
    let mut plan: Option<Plan> = None;
    let mut updates = Vec::new();
    for (id, item) in items {
        let chunk = |content: ContentBlock| {
            ContentChunk::new(content).message_id(MessageId::from(format!("item-{}", id.0)))
        };
        let update = match &**item {
            Item::User(message) => {
                let said = chunk(tool_call::text(&*message.text));
                updates.push(SessionUpdate::UserMessageChunk(said));
                match message.command() {
                    Some((_, output)) => SessionUpdate::UserMessageChunk(chunk(tool_call::fenced(output))),
                    None => continue,
                }
            }
            Item::Assistant { text, .. } => SessionUpdate::AgentMessageChunk(chunk(tool_call::text(&**text))),
            Item::Reasoning(reasoning) if reasoning.text.is_empty() => continue,
            Item::Reasoning(reasoning) => {
                SessionUpdate::AgentThoughtChunk(chunk(tool_call::text(&*reasoning.text)))
            }
            Item::ToolCall(call) => {
                let begun = tool_call::begun(&call.id, &call.name, &call.title(), &call.args, root);
                SessionUpdate::ToolCall(begun.status(ToolCallStatus::InProgress))
            }
            Item::ToolResult(result) => {
                plan = tool_call::plan(result).or(plan);
                SessionUpdate::ToolCallUpdate(tool_call::done(result, root))
            }
            Item::Image(image) => {
                let image = ImageContent::new(&*image.data, &*image.media_type);
                SessionUpdate::UserMessageChunk(chunk(ContentBlock::Image(image)))
            }
            // The items it replaces are in the list themselves.
            Item::Summary(_) | Item::Reminder(_) => continue,
        };
        updates.push(update);
    }
    updates.extend(plan.map(SessionUpdate::Plan));
    updates
}
