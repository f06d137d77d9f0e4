//! Commands of the client to an open session, which closes when no more can come; its work in progress: one request at a
//! time, and the agent's open questions; what its end is in the protocol; and the slash commands offered to editors,
//! with their results as Markdown. The user's own commands are sent as messages; the agent expands them.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, Error, RequestId, SetSessionConfigOptionRequest,
    SetSessionModeRequest, StopReason, ToolCallUpdate, UnstructuredCommandInput,
};

use crate::acp::error;
use crate::acp::prompt::Input;
use base::protocol::event::{CommandRow, EndReason, FailureCause};
use base::protocol::ledger::{LedgerRow, LedgerView};
use base::protocol::op::{Control, Idle, Op, Quick, Work};
use base::protocol::review::Changes;
use base::text::{human_tokens, plural};

pub enum Command {
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
    Notice,
    Compaction,
    Status,
    Cost,
    Ledger,
    Changes,
}

impl EndsWith {
    /// Answered at once, so there's nothing to interrupt.
    pub fn is_quick(self) -> bool {
        !matches!(self, Self::Turn | Self::Compaction)
    }
}

const COMMANDS: [(&str, &str, &str); 10] = [
    ("init", "", "write or improve the project's rules file (AGENTS.md)"),
    ("compact", "what to keep in detail", "summarize older turns now"),
    ("uncompact", "", "undo the last compaction"),
    ("context", "", "show what fills the window"),
    ("status", "", "show model, permission level, sandbox, …"),
    ("cost", "", "show what this session cost, by model and turn"),
    ("stats", "", "show what this session did and cost"),
    ("recall", "ID or words", "show an item in full, or search this session"),
    ("diff", "turn", "show what this session, or its last turn, changed"),
    ("export", "file", "write this session to a .md, .html or .json file"),
];

pub fn available(own: &[CommandRow]) -> Vec<AvailableCommand> {
    let command = |name: &str, args: &str, help: &str| {
        let hint = (!args.is_empty()).then(|| UnstructuredCommandInput::new(args));
        AvailableCommand::new(name, help).input(hint.map(AvailableCommandInput::Unstructured))
    };
    let ours = COMMANDS.into_iter().map(|(name, args, help)| command(name, args, help));
    ours.chain(own.iter().map(|row| command(&row.name, &row.args, &row.help))).collect()
}

pub fn parse(text: &str) -> Option<(Op, EndsWith)> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let args = args.trim();
    let given = || (!args.is_empty()).then(|| args.to_owned());
    Some(match name {
        "init" => (Op::Work(Work::Init), EndsWith::Turn),
        "compact" => (Op::Work(Work::Compact { focus: given() }), EndsWith::Compaction),
        "uncompact" => (Op::Idle(Idle::Uncompact), EndsWith::Notice),
        "context" => (Op::Control(Control::ShowContext), EndsWith::Ledger),
        "status" => (Op::Quick(Quick::ShowStatus), EndsWith::Status),
        "cost" => (Op::Quick(Quick::ShowCost), EndsWith::Cost),
        "stats" => (Op::Quick(Quick::ShowStats), EndsWith::Notice),
        "recall" => (Op::Quick(Quick::Recall { what: args.to_owned() }), EndsWith::Notice),
        "diff" => (Op::Quick(Quick::ShowChanges { turn: args == "turn" }), EndsWith::Changes),
        "export" => (Op::Quick(Quick::Export { file: given(), force: false }), EndsWith::Notice),
        _ => return None,
    })
}

pub fn rows(rows: &[(String, String)], none: &str) -> String {
    let rows = rows.iter().map(|(name, value)| format!("- {name}: {value}\n"));
    let text: String = rows.collect();
    if text.is_empty() { none.to_owned() } else { text }
}

pub fn ledger(view: &LedgerView) -> String {
    let (total, window) = (human_tokens(view.total_tokens), human_tokens(view.window_tokens));
    let mut text = format!(
        "{total} of {window} tokens\n\n| id | layer | tokens | form | origin |\n|---|---|---|---|---|\n"
    );
    for row in &view.rows {
        let LedgerRow { id, layer, tokens, form, .. } = row;
        let origin = row.origin.replace('|', "\\|");
        text.push_str(&format!("| {id} | {layer} | {tokens} | {form} | {origin} |\n"));
    }
    text
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
