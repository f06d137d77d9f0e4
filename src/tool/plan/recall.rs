//! Recall: the way back to everything that was shortened or archived. The originals come through a port; this tool only
//! pages them.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::model::item::{Item, ItemId};
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;

#[derive(Deserialize)]
pub struct Args {
    id: u64,
}

pub struct Recall;

impl TypedTool for Recall {
    type Args = Args;
    const NAME: &'static str = "Recall";
    const READ_ONLY: bool = true;

    fn description(&self) -> &'static str {
        prompts::TOOL_RECALL
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
    }

    fn access(&self, _: &Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn title(&self, args: &Args) -> String {
        format!("Recall #{}", args.id)
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        let Some(originals) = &cx.originals else {
            return Err(ToolError::model(ErrorCode::NotFound, "this place keeps no originals"));
        };
        let Some(item) = originals.original(ItemId(args.id)) else {
            return Err(ToolError::model(
                ErrorCode::NotFound,
                format!(
                    "this session has no item #{}; the ids stand in the marks of shortened results",
                    args.id
                ),
            ));
        };
        let body = match &*item {
            Item::User(message) => message.wire().to_string(),
            Item::Assistant { text } => text.to_string(),
            Item::Reasoning(reasoning) => reasoning.text.to_string(),
            Item::ToolCall(call) => format!("{} {}", call.name, call.args),
            Item::ToolResult(result) => result.envelope.wire().into_owned(),
            Item::Summary(summary) => summary.text.to_string(),
        };
        Ok(Envelope::success("").with("id", args.id).with_body("content", body))
    }
}
