//! A stored session as updates, in the form in which it was first shown.

use std::path::Path;
use std::sync::Arc;

use super::tool_call;
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, ImageContent, MessageId, Plan, SessionUpdate, ToolCallStatus,
};
use base::model::item::{Item, ItemId};

pub fn updates(items: &[(ItemId, Arc<Item>)], root: &Path) -> Vec<SessionUpdate> {
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
