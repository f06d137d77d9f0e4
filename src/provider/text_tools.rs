//! Tools as text, for servers and models that refuse them: described in the system prompt, with calls and results written as
//! text. `agent/turn/text_calls.rs` reads the calls in a reply.

use serde_json::{Value, json};

use base::config::prompts;
use base::model::call::ToolCall;
use base::model::request::{AssistantText, Block, Message, Request, reminder};

/// Stops a model from inventing the result.
pub const STOP: &str = "<tool_result";

pub fn written_out(request: &Request) -> Request {
    let mut system = request.system.clone();
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            format!("\n## {}\n{}\nArguments (JSON Schema): {}\n", tool.name, tool.description, tool.schema)
        });
        let text = std::iter::once(prompts::TEXT_TOOLS.to_owned()).chain(tools).collect::<String>();
        system.push(Block { text: text.into() });
    }
    let mut messages: Vec<Message> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message {
            Message::Call(call) => add_said(&mut messages, &written_call(call)),
            Message::Assistant(said) => add_said(&mut messages, &said.text),
            Message::Result { call_id, text, error } => {
                let word = if *error { " error=\"true\"" } else { "" };
                let tool = name_of(request, call_id);
                let result = format!("<tool_result tool=\"{tool}\"{word}>\n{text}\n</tool_result>");
                add_user(&mut messages, &result);
            }
            Message::User(text) => add_user(&mut messages, text),
            Message::System(text) => add_user(&mut messages, &reminder(text)),
            Message::Image(_) | Message::Reasoning(_) => messages.push(message.clone()),
        }
    }
    // The messages' positions have changed.
    Request { system, messages, params: request.params.clone(), ..Request::default() }
}

fn written_call(call: &ToolCall) -> String {
    let args = call.parsed_args().unwrap_or_else(|_| Value::String(call.args.to_string()));
    format!("<tool_call>\n{}\n</tool_call>", json!({"name": call.name, "arguments": args}))
}

fn name_of<'a>(request: &'a Request, id: &str) -> &'a str {
    let named = request.messages.iter().rev().find_map(|message| match message {
        Message::Call(call) if &*call.id == id => Some(&*call.name),
        _ => None,
    });
    named.unwrap_or("tool")
}

/// Many templates require user and assistant to alternate.
fn add_user(messages: &mut Vec<Message>, text: &str) {
    match messages.last_mut() {
        Some(Message::User(before)) => *before = format!("{before}\n\n{text}").into(),
        _ => messages.push(Message::User(text.into())),
    }
}

fn add_said(messages: &mut Vec<Message>, text: &str) {
    match messages.last_mut() {
        Some(Message::Assistant(before)) => before.text = format!("{}\n\n{text}", before.text).into(),
        _ => messages.push(Message::Assistant(AssistantText::from(text))),
    }
}
