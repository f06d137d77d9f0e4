//! AskUser: the model asks the user. Refused where nobody can answer.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::text;
use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::policy::access::Access;
use crate::protocol::approval::AskedQuestion;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;

#[derive(Deserialize)]
pub struct Args {
    questions: Vec<AskedQuestion>,
}

pub struct AskUser;

impl TypedTool for AskUser {
    type Args = Args;
    const NAME: &'static str = "AskUser";

    fn description(&self) -> &'static str {
        prompts::TOOL_ASK_USER
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "questions": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string"},
                        "options": {"type": "array", "items": {"type": "string"}}
                    },
                    "required": ["question"]
                }}
            },
            "required": ["questions"]
        })
    }

    fn access(&self, _: &Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn title(&self, args: &Args) -> String {
        let first = args.questions.first().map_or("", |asked| &asked.question);
        format!("AskUser {}", text::one_line(first, 80))
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        if args.questions.is_empty() {
            return Err(ToolError::invalid("no question was given"));
        }
        let Some(asker) = &cx.asker else {
            return Err(ToolError::model(
                ErrorCode::AskUserUnavailable,
                "nobody can answer here. Decide by yourself, say what you assumed, and go on",
            ));
        };
        let questions = args.questions.clone();
        let Some(replies) = asker.ask(args.questions).await else {
            return Err(ToolError::model(
                ErrorCode::AskUserUnavailable,
                "the user closed the questions without an answer. Don't ask the same again: decide by yourself and say \
                 what you assumed, or end the turn if you can't go on",
            ));
        };
        let body = questions
            .iter()
            .zip(&replies)
            .map(|(asked, reply)| format!("Q: {}\nA: {reply}", asked.question))
            .collect::<Vec<_>>()
            .join("\n");
        Ok(Envelope::success("").with("replies", json!(replies)).with_body("answers", body))
    }
}
