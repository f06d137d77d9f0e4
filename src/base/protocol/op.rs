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

/// The engine takes operations in order. Each kind is matched in full where it is handled, so that none is lost.
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
    /// A new user message. While a turn runs it is steering: used at the next step.
    Submit { text: String },
    /// A message that begins its own turn, with attachments.
    Prompt { text: String, attachments: Vec<Attachment> },
    /// Run a user's `!command` and add its output to the context: now, or at the running turn's next step.
    RunCommand { command: String },
    /// Replace old rounds with a summary now; `focus` says what to keep in detail.
    Compact { focus: Option<String> },
    /// Write the rules file (`/init`) in a turn with the built-in prompt.
    Init,
    /// Run the maintenance phases, each as a turn, until one doesn't finish.
    Maintain(Maintain),
    /// A reviewer reads what the session changed; the next message tells the model.
    Review,
    /// Work on a goal until its check passes, in a turn per round.
    Goal(Goal),
    /// The next round of the open goal. Without a result of its check, the check runs first.
    NextRound,
    /// A turn of its own for what sub-agents in the background report, if one does.
    Reports,
}

/// Acts on the running work, where there is one.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Return what was typed for the running turn but isn't used yet, with `Event::TakenBack`.
    TakeBack,
    /// Stop the running turn; finished work stays. Waiting messages are returned.
    Interrupt,
    /// To an `Event::Ask`.
    Answer { id: QuestionId, answer: Answer },
    /// Answered by `Event::Ledger`.
    ShowContext,
    /// At once, or before the next request of the running turn.
    EditContext { edit: ContextEdit, id: ItemId },
    /// The engine finishes its writes and drops the event sender.
    Shutdown,
}

/// Needs the whole conversation: waits until no work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Idle {
    /// Undo the last compaction.
    Uncompact,
    /// Whether a full window is summarized unasked.
    AutoCompact { on: bool },
    /// By its name, perhaps with a vendor before it.
    SetModel { model: String },
    /// How long the model may think.
    SetEffort { level: String },
    /// The saved keys changed: use them.
    ReadKeys,
    /// Begin a new session.
    Clear,
    /// Answered by `Event::Session` and `Event::History`.
    Resume { session: String },
    /// The goal ends; the session goes on.
    StopGoal,
    /// Leave this session and continue in a copy of another.
    ForkSession { session: String },
}

/// Needs the undo journal and the conversation: waits until no work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Undo {
    /// Answered by `Event::RewindPoints`.
    ListPoints,
    /// Answered by `Event::RewindPreview`.
    PreviewRewind { point: PointId },
    /// Go back; answered by `Event::Rewound`. `force` overwrites what others changed since.
    Rewind { point: PointId, part: RewindScope, force: bool },
    /// Put one hunk into the index of git; answered by `Event::Changes`.
    StageHunk { turn: bool, hunk: HunkId },
    /// Revert one hunk to before the session, or the last turn; answered by `Event::Changes`.
    RevertHunk { turn: bool, hunk: HunkId },
}

/// Doesn't need the conversation: done at once, even while work runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Quick {
    /// Decide whether this is a rule or a note, and keep it; if neither, it returns with `Event::TakenBack`.
    Keep { text: String },
    /// Show the original of an item (by its number), or search the session.
    Recall { what: String },
    /// Answered by `Event::Permission`.
    SetPermission { permission: Permission },
    /// Answered by `Event::Mode`.
    SetMode { mode: Mode },
    /// Write the session to a file, relative to the workspace; `None`: one named after the session.
    Export { file: Option<String>, force: bool },
    /// Items of the session, or of one of its sub-agents; answered by `Event::Transcript`.
    ShowTranscript { agent: Option<String> },
    /// Of the last turn, or of the session; answered by `Event::Changes`.
    ShowChanges { turn: bool },
    /// `id` as in the ledger; answered by `Event::ItemHistory`.
    Explain { id: String },
    /// Keep it as a prompt of the user's, for later sessions.
    Remember { text: String },
    /// Answered by `Event::Prompts`.
    ListPrompts,
    /// What is in the composer, for the next start.
    SaveDraft { text: String },
    /// Answered by a notice with what the MCP servers offer; starts them.
    ShowMcp,
    /// Whether the server's tools can be called in this session.
    SwitchMcp { server: String, on: bool },
    /// A request of the program that started us, in Claude's form; answered by `Event::HostAnswer`.
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
    /// Of the open one; answered by a notice.
    NameSession { session: String, title: String },
    /// Into the trash.
    DeleteSession { session: String },
    /// Out of the trash.
    RestoreSession { session: String },
    /// Answered by `Event::Models`.
    ListModels,
    /// Answered by `Event::Notes`.
    ListNotes,
    /// Archive it; answered by `Event::Notes`.
    ForgetNote { id: String },
    /// Answered by `Event::Keys`.
    ListKeys,
    /// Check a vendor's key and save it, or remove it; answered by `Event::KeyChanged`.
    SaveKey { vendor: String, key: Option<Secret> },
    /// Answered by `Event::Rules`.
    ListRules,
    /// Revoke it; answered by `Event::Rules`.
    RemoveRule { rule: RuleRow },
    /// Answered by `Event::JobOutput`.
    ShowJob { id: u32 },
    /// Answered by a notice: model, window, permission, sandbox, session, rules files.
    ShowStatus,
    /// Answered by `Event::Skills`.
    ShowSkills,
    /// Answered by a notice.
    ListHooks,
    /// What of the project isn't trusted, and what changed in it.
    ShowTrust,
    /// Cost of this session, by model and turn; answered by a notice.
    ShowCost,
    /// With everything that it started.
    StopJob { id: u32 },
    /// The running commands go on as background jobs.
    Background,
    /// Never offer to create a rules file in this project again.
    DeclineInit,
    /// For the `@` popup; answered by `Event::Files`.
    ListFiles,
}

impl Op {
    /// What a headless prompt requests: a command that runs its own turns, or a message.
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
    /// The bytes of a picture file in a supported format.
    Image { name: String, bytes: Vec<u8> },
    /// The text of a resource, such as a file open in an editor.
    Text { name: String, text: String },
}
