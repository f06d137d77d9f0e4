//! AskUser: the model asks the user. Refused if no user can answer.

use std::sync::Arc;

use serde::Deserialize;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Answers, Observation};
use base::protocol::approval::AskedQuestion;
use base::text;

#[derive(Deserialize)]
pub struct Args {
    questions: Vec<AskedQuestion>,
}

pub struct AskUser;

impl TypedTool for AskUser {
    type Args = Args;
    const NAME: &'static str = "AskUser";
    const ARGUMENTS: &'static str = "questions [question, options? strings]";
    const WORK: ToolWork<Args> = ToolWork::Async(|args, cx| Box::pin(ask(args, cx)));

    fn title(args: &Args) -> String {
        let first = args.questions.first().map_or("", |asked| &asked.question);
        format!("AskUser {}", text::one_line(first, 80))
    }
}

async fn ask(args: Arc<Args>, cx: &ToolCx) -> ToolOutcome {
    let unavailable = |message: &str| ToolError::model(ErrorCode::AskUserUnavailable, message);
    if args.questions.is_empty() {
        return Err(ToolError::invalid("questions is empty"));
    }
    let Some(asker) = &cx.asker else {
        return Err(unavailable(
            "no user is available (headless). Decide by yourself, say what you assumed, and continue",
        ));
    };
    let Some(replies) = asker.ask(args.questions.clone()).await else {
        return Err(unavailable(
            "the user closed the questions without an answer. Don't ask the same again: decide by yourself and say what \
             you assumed, or end the turn if you can't continue",
        ));
    };
    let answers = args.questions.iter().zip(&replies);
    let body: Vec<String> =
        answers.map(|(asked, reply)| format!("Q: {}\nA: {reply}", asked.question)).collect();
    let answers = Observation::Answers(Answers { replies: Some(replies) });
    Ok(Envelope::success("").observed(answers).with_body("answers", body.join("\n")))
}
