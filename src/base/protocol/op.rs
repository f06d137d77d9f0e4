//! What a front end can ask of the agent.

use super::approval::{Answer, QuestionId};
use super::attachment::Attachment;
use super::ledger::ContextEdit;
use super::lists::RuleRow;
use super::maintain::Maintain;
use super::review::HunkId;
use super::rewind::{PointId, RewindScope};
use crate::config::mode::Mode;
use crate::config::settings::Permission;
use crate::model::item::ItemId;

/// One operation. The engine takes them in order; `Interrupt` and `Answer` also act while a turn runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A new user message. While a turn runs it is steering: taken up at the next step.
    Submit {
        text: String,
    },
    /// A message that begins a turn of its own, with what a client sent along.
    Prompt {
        text: String,
        attachments: Vec<Attachment>,
    },
    /// Run a command of the user's own (`!command`) and keep what it prints in the context: at once, or at the next step
    /// of the running turn.
    RunCommand {
        command: String,
    },
    /// Ask whether this is a rule or a note, and keep it; it comes back with `Event::TakenBack` when it is neither.
    Keep {
        text: String,
    },
    /// Give back what was typed for the running turn and not taken up yet; answered by `Event::TakenBack`.
    TakeBack,
    /// Stop the running turn; what was finished stays. What waits for it is given back.
    Interrupt,
    Answer {
        id: QuestionId,
        answer: Answer,
    },
    /// Replace old rounds by a summary now; `focus` says what must be kept in detail.
    Compact {
        focus: Option<String>,
    },
    /// Show the original of an item (by its number), or search the session.
    Recall {
        what: String,
    },
    /// Take the last compaction back.
    Uncompact,
    /// Whether old rounds are summarized by themselves.
    AutoCompact {
        on: bool,
    },
    SetModel {
        model: String,
    },
    SetPermission {
        permission: Permission,
    },
    SetMode {
        mode: Mode,
    },
    /// Leave this session and begin an empty one.
    Clear,
    /// Leave this session and continue another.
    Resume {
        session: String,
    },
    /// Ask for `Event::RewindPoints`.
    ListPoints,
    /// Ask for an `Event::RewindPreview`.
    PreviewRewind {
        point: PointId,
    },
    /// Go back; answered by `Event::Rewound`. `force` overwrites what somebody else changed since.
    Rewind {
        point: PointId,
        part: RewindScope,
        force: bool,
    },
    /// Write the session to a file, relative to the workspace; `None`: one with its name.
    Export {
        file: Option<String>,
        force: bool,
    },
    /// The items of the session, or of one of its sub-agents, answered by `Event::Transcript`.
    ShowTranscript {
        agent: Option<String>,
    },
    /// Ask for `Event::Changes`: of the last turn, or of the session.
    ShowChanges {
        turn: bool,
    },
    /// Put one place of the changes into git's index.
    StageHunk {
        turn: bool,
        hunk: HunkId,
    },
    /// Bring one place of a file back to what it was before the session, or the last turn; answered by `Event::Changes`.
    RevertHunk {
        turn: bool,
        hunk: HunkId,
    },
    /// Ask for a fresh `Event::Ledger`.
    ShowContext,
    /// Pin, drop or restore an item: at once, or before the next request of the running turn.
    EditContext {
        edit: ContextEdit,
        id: ItemId,
    },
    /// Ask for `Event::ItemHistory`; `id` as the ledger shows it.
    Explain {
        id: String,
    },
    /// Keep a prompt for the history search.
    Remember {
        text: String,
    },
    /// Ask for `Event::Prompts`.
    ListPrompts,
    /// Keep what stands in the composer; empty when nothing does.
    SaveDraft {
        text: String,
    },
    /// Ask for a notice with what the MCP servers offer; starts them.
    ShowMcp,
    /// Ask for a notice with what this session did and cost.
    ShowStats,
    /// Ask for `Event::Sessions`.
    ListSessions,
    /// Ask for `Event::SessionPreview`.
    PreviewSession {
        session: String,
    },
    /// Leave this session and continue in a copy of another.
    ForkSession {
        session: String,
    },
    /// Give a stored session another title; answered by `Event::Sessions`, as are the next two.
    RenameSession {
        session: String,
        title: String,
    },
    /// Move a stored session to the trash.
    DeleteSession {
        session: String,
    },
    /// Take it back out.
    RestoreSession {
        session: String,
    },
    /// Ask for `Event::Models`.
    ListModels,
    /// Ask for `Event::Rules`.
    ListRules,
    /// Allow it no longer; answered by `Event::Rules`.
    RemoveRule {
        rule: RuleRow,
    },
    /// Ask for `Event::JobOutput`.
    ShowJob {
        id: u32,
    },
    /// Ask for a notice with what holds here: model, window, permission, sandbox, session, rules files.
    ShowStatus,
    /// Ask for `Event::Skills`.
    ShowSkills,
    /// Ask for a notice that lists the hooks.
    ListHooks,
    /// Ask for a notice with what this session cost, by model and turn.
    ShowCost,
    /// End a background job.
    StopJob {
        id: u32,
    },
    /// Write the rules file (`/init`): runs a turn with the built-in prompt.
    Init,
    /// Run the phases of maintenance, each as a turn, until one does not come to its end.
    Maintain(Maintain),
    /// Remember that this project shall not be asked about a rules file again.
    DeclineInit,
    /// List files for the `@` popup under `root`; answered by `Event::Files`.
    ListFiles,
    /// End; the engine finishes its writes and drops the event sender.
    Shutdown,
}

impl Op {
    /// What a prompt without a screen asks for: the commands that run turns of their own, or a message.
    pub fn of_prompt(text: String) -> Self {
        let command = text.trim();
        if command == "/init" {
            return Self::Init;
        }
        let args = command.strip_prefix("/maintain").filter(|args| args.is_empty() || args.starts_with(' '));
        match args.map(Maintain::parse) {
            Some(Ok(work)) => Self::Maintain(work),
            _ => Self::Submit { text },
        }
    }
}
