//! What a front end can request from the agent.

use serde_json::Value;

use super::approval::{Answer, QuestionId};
use super::goal::Goal;
use super::ledger::ContextEdit;
use super::lists::RuleRow;
use super::maintain::Maintain;
use super::review::HunkId;
use super::rewind::{PointId, RewindScope};
use crate::config::mode::Mode;
use crate::config::settings::Permission;
use crate::model::item::ItemId;
use crate::secret::Secret;

/// The engine takes operations in order. Each kind is matched exhaustively where it is handled, so that none is lost.
#[derive(Clone, Debug, PartialEq, derive_more::From)]
pub enum Op {
    Work(Work),
    Control(Control),
    Idle(Idle),
    Undo(Undo),
    Quick(Quick),
}

/// Starts a turn, or other work that can be interrupted.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A new user message. During a turn it is steering, used at the next step.
    Submit { text: String },
    /// A message that begins its own turn, with attachments.
    Prompt { text: String, attachments: Vec<Attachment> },
    /// Runs a user's `!command` and adds its output to the context: now, or at the running turn's next step.
    RunCommand { command: String },
    /// Replaces old rounds with a summary now; `focus` says what to keep in detail.
    Compact { focus: Option<String> },
    /// Writes the rules file (`/init`) in a turn with the built-in prompt.
    Init,
    /// Runs the maintenance phases, each as a turn, until one doesn't finish.
    Maintain(Maintain),
    /// A reviewer reads the session's changes; the next message tells the model.
    Review,
    /// Works on a goal until its check passes, one turn per round.
    Goal(Goal),
    /// The next round of the open goal. If its check has no result yet, the check runs first.
    NextRound,
    /// A turn for reports of background sub-agents, if there are any.
    Reports,
}

/// Acts on the running work, if any.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Returns what was typed for the running turn but not used yet, with `Event::TakenBack`.
    TakeBack,
    /// Stops the running turn; finished work stays. Waiting messages are returned.
    Interrupt,
    /// Answers an `Event::Ask`.
    Answer { id: QuestionId, answer: Answer },
    /// Answered by `Event::Ledger`.
    ShowContext,
    /// Applied at once, or before the next request of the running turn.
    EditContext { edit: ContextEdit, id: ItemId },
    /// The engine finishes its writes and drops the event sender.
    Shutdown,
}

/// Needs the whole conversation, so it waits until no work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Idle {
    /// Undoes the last compaction.
    Uncompact,
    /// Whether a full window is summarized automatically.
    AutoCompact { on: bool },
    /// The model's name, optionally with a vendor prefix.
    SetModel { model: String },
    /// How much the model may think.
    SetEffort { level: String },
    /// Use the saved keys after a change.
    ReadKeys,
    /// Begins a new session.
    Clear,
    /// Answered by `Event::Session` and `Event::History`.
    Resume { session: String },
    /// The goal ends, but the session continues.
    StopGoal,
    /// Leaves this session and continues in a copy of another.
    ForkSession { session: String },
}

/// Needs the undo journal and the conversation, so it waits until no work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Undo {
    /// Answered by `Event::RewindPoints`.
    ListPoints,
    /// Answered by `Event::RewindPreview`.
    PreviewRewind { point: PointId },
    /// Goes back; answered by `Event::Rewound`. `force` overwrites what others changed since.
    Rewind { point: PointId, part: RewindScope, force: bool },
    /// Adds one hunk to git's index; answered by `Event::Changes`.
    StageHunk { turn: bool, hunk: HunkId },
    /// Reverts one hunk to before the session or the last turn; answered by `Event::Changes`.
    RevertHunk { turn: bool, hunk: HunkId },
}

/// Doesn't need the conversation, so it is done at once, even while work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Quick {
    /// Asks whether this is a rule or a note, and saves it; if neither, returns it with `Event::TakenBack`.
    Keep { text: String },
    /// Shows the original of an item (by its number), or searches the session.
    Recall { what: String },
    /// Answered by `Event::Permission`.
    SetPermission { permission: Permission },
    /// Answered by `Event::Mode`.
    SetMode { mode: Mode },
    /// Writes the session to a file, relative to the workspace; `None`: named after the session.
    Export { file: Option<String>, force: bool },
    /// Items of the session or of one of its sub-agents; answered by `Event::Transcript`.
    ShowTranscript { agent: Option<String> },
    /// Of the last turn, or of the session; answered by `Event::Changes`.
    ShowChanges { turn: bool },
    /// `id` as in the ledger; answered by `Event::ItemHistory`.
    Explain { id: String },
    /// Saves it in the prompt history.
    Remember { text: String },
    /// Answered by `Event::Prompts`.
    ListPrompts,
    /// Saves the composer's text for the next start.
    SaveDraft { text: String },
    /// Answered by a notice with what the MCP servers offer; starts them.
    ShowMcp,
    /// Whether the server's tools can be called in this session.
    SwitchMcp { server: String, on: bool },
    /// A request of the host program, in Claude's form; answered by `Event::HostAnswer`.
    HostRequest { id: String, request: Value },
    /// Answered by a notice with what this session did and cost.
    ShowStats,
    /// Of this folder; answered by `Event::Sessions`.
    ListSessions,
    /// Of all folders; answered by `Event::Sessions`.
    ListAllSessions,
    /// Answered by `Event::SessionPreview`.
    PreviewSession { session: String },
    /// Answered by `Event::Sessions`, like the next two.
    RenameSession { session: String, title: String },
    /// For the open session; answered by a notice.
    NameSession { session: String, title: String },
    /// Moves it to the trash.
    DeleteSession { session: String },
    /// Restores it from the trash.
    RestoreSession { session: String },
    /// Answered by `Event::Models`.
    ListModels,
    /// Answered by `Event::Notes`.
    ListNotes,
    /// Archives it; answered by `Event::Notes`.
    ForgetNote { id: String },
    /// Answered by `Event::Keys`.
    ListKeys,
    /// Checks and saves a vendor's key, or removes it; answered by `Event::KeyChanged`.
    SaveKey { vendor: String, key: Option<Secret> },
    /// Answered by `Event::Rules`.
    ListRules,
    /// Revokes it; answered by `Event::Rules`.
    RemoveRule { rule: RuleRow },
    /// Answered by `Event::JobOutput`.
    ShowJob { id: u32 },
    /// Answered by a notice: model, window, permission, sandbox, session, rules files.
    ShowStatus,
    /// Answered by `Event::Skills`.
    ShowSkills,
    /// Answered by a notice.
    ListHooks,
    /// Shows which files of the project aren't trusted, and what changed in them.
    ShowTrust,
    /// Cost of this session, by model and turn; answered by a notice.
    ShowCost,
    /// Includes everything that it started.
    StopJob { id: u32 },
    /// The running commands continue as background jobs.
    Background,
    /// Never offers to create a rules file in this project again.
    DeclineInit,
    /// For the `@` popup; answered by `Event::Files`.
    ListFiles,
}

impl Op {
    /// What a headless prompt requests: a command with its own turns, or a message.
    pub fn of_prompt(text: String) -> Self {
        let command = text.trim();
        let args = command.strip_prefix("/maintain").filter(|args| args.is_empty() || args.starts_with(' '));
        match (command, args.map(Maintain::parse)) {
            ("/init", _) => Work::Init.into(),
            ("/context", _) => Control::ShowContext.into(),
            ("/cost", _) => Quick::ShowCost.into(),
            (_, Some(Ok(work))) => Work::Maintain(work).into(),
            _ => Work::Submit { text }.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A picture file in a supported format, or a PDF document.
    Image { name: String, bytes: Vec<u8> },
    /// The text of a resource, such as a file open in an editor.
    Text { name: String, text: String },
}
