//! Commands of the client to an open session, its work in progress (one request at a time, and open questions), and the slash
//! commands offered to editors. The user's own commands are sent as messages; the agent expands them.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, Error, RequestId, SetSessionConfigOptionRequest,
    SetSessionModeRequest, StopReason, ToolCallUpdate, UnstructuredCommandInput,
};

use crate::acp::error;
use crate::acp::prompt::Input;
use base::protocol::event::{CommandRow, EndReason, FailureCause};
use base::protocol::op::{Control, Idle, Op, Quick, Work};
use base::protocol::review::Changes;
use base::text::plural;

pub enum SessionCommand {
    Prompt { id: RequestId, input: Input },
    Cancel,
    CancelRequest(RequestId),
    SetMode { id: RequestId, request: SetSessionModeRequest },
    SetOption { id: RequestId, request: SetSessionConfigOptionRequest },
}

/// `turns` counts started turns, or messages about a compaction. `stop`: result unless the plan is run.
pub enum Busy {
    Prompt { id: RequestId, ends: EndsWith, cancelled: bool, turns: usize, stop: Option<StopReason> },
    Model { id: RequestId },
}

pub enum Waiting {
    Prompt { id: RequestId, input: Input },
    Model { id: RequestId, model: String },
}

/// An open question. `ours`: its call was only created to show it.
pub struct Open {
    pub call: ToolCallUpdate,
    pub ours: bool,
    pub plan: bool,
}

/// The client's stop reason or error, plus anything else the user should know.
pub fn stop(reason: &EndReason) -> (Result<StopReason, Error>, Option<String>) {
    let failed = |message: &str, hint: &str| {
        let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        format!("{message}{hint}")
    };
    match reason {
        EndReason::Done => (Ok(StopReason::EndTurn), None),
        EndReason::Interrupted { .. } => (Ok(StopReason::Cancelled), None),
        EndReason::StepLimit { .. } => (Ok(StopReason::MaxTurnRequests), None),
        EndReason::Failed { message, hint, cause, .. } => {
            let why = failed(message, hint);
            match cause {
                FailureCause::OutputLimit => (Ok(StopReason::MaxTokens), Some(why)),
                FailureCause::Refused => (Ok(StopReason::Refusal), Some(why)),
                _ => (Err(error::failed(why)), None),
            }
        }
        // ACP has no composer, so a prompt is only returned when a filter refused it.
        EndReason::ProviderFailed { message, hint, prompt_returned: Some(_) } => {
            (Ok(StopReason::Refusal), Some(failed(message, hint)))
        }
        EndReason::ProviderFailed { message, hint, .. } => (Err(error::failed(failed(message, hint))), None),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndsWith {
    Turn,
    Compaction,
    Notice,
    Answer,
}

impl EndsWith {
    pub fn is_quick(self) -> bool {
        !matches!(self, Self::Turn | Self::Compaction)
    }
}

/// Name, arguments, help, its operation, and what answers it.
type CommandLine = (&'static str, &'static str, &'static str, fn(&str) -> Op, EndsWith);

#[rustfmt::skip]
const COMMANDS: [CommandLine; 10] = [
    ("init", "", "write or improve the project's rules file (AGENTS.md)", |_| Work::Init.into(), EndsWith::Turn),
    ("compact", "what to keep in detail", "summarize older turns now", |text| Work::Compact { focus: given(text) }.into(), EndsWith::Compaction),
    ("uncompact", "", "undo the last compaction", |_| Idle::Uncompact.into(), EndsWith::Notice),
    ("context", "", "show what fills the window", |_| Control::ShowContext.into(), EndsWith::Answer),
    ("status", "", "show model, permission level, sandbox, …", |_| Quick::ShowStatus.into(), EndsWith::Answer),
    ("cost", "", "show what this session cost, by model and turn", |_| Quick::ShowCost.into(), EndsWith::Answer),
    ("stats", "", "show what this session did and cost", |_| Quick::ShowStats.into(), EndsWith::Notice),
    ("recall", "ID or words", "show an item in full, or search this session", |text| Quick::Recall { what: text.to_owned() }.into(), EndsWith::Notice),
    ("diff", "turn", "review changes of this session or the last turn", |text| Quick::ShowChanges { turn: text == "turn" }.into(), EndsWith::Answer),
    ("export", "file", "write this session to a .md, .html or .json file", |text| Quick::Export { file: given(text), force: false }.into(), EndsWith::Notice),
];

fn given(args: &str) -> Option<String> {
    (!args.is_empty()).then(|| args.to_owned())
}

pub fn available(own: &[CommandRow]) -> Vec<AvailableCommand> {
    let command = |name: &str, args: &str, help: &str| {
        let hint = (!args.is_empty()).then(|| UnstructuredCommandInput::new(args));
        AvailableCommand::new(name, help).input(hint.map(AvailableCommandInput::Unstructured))
    };
    let ours = COMMANDS.iter().map(|(name, args, help, ..)| command(name, args, help));
    ours.chain(own.iter().map(|row| command(&row.name, &row.args, &row.help))).collect()
}

pub fn parse(text: &str) -> Option<(Op, EndsWith)> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (.., op, ends) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
    Some((op(args.trim()), *ends))
}

pub fn changes(changes: &Changes) -> String {
    let mut text = String::new();
    for file in &changes.files {
        text.push_str(&format!("**{}**\n", file.heading()));
        for hunk in &file.hunks {
            text.push_str(&format!("````diff\n{}\n````\n", hunk.diff.trim_end_matches('\n')));
        }
    }
    if !changes.outside.is_empty() {
        let count = plural(changes.outside.len(), "path");
        text.push_str(&format!("Outside of the workspace {count} changed: {}\n", changes.outside.join(", ")));
    }
    if text.is_empty() { "Nothing was changed.".to_owned() } else { text }
}
