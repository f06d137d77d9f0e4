//! The slash commands offered to editors: the operation each sends, and the event that ends it. The user's
//! own commands are sent as messages; the agent expands them.

use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};

use base::protocol::event::CommandRow;
use base::protocol::op::{Control, Idle, Op, Quick, Work};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndsWith {
    Turn,
    Notice,
    /// A notice, then a window update.
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
    ("export", "file", "write this session to a .md, .html, .json or .svg file"),
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
