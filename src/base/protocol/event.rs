//! What the agent tells its front ends. Events are complete: a front end needs nothing else to draw the session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::approval::{Question, QuestionId};
use super::ledger::{ItemHistory, LedgerView};
use super::lists::{ModelRow, PreviewMessage, RuleRow};
use super::review::Changes;
use super::rewind::{RewindDone, RewindPoint, RewindPreview};
use crate::config::mode::Mode;
use crate::config::settings::Permission;
use crate::model::item::{Item, ItemId, ToolResult};
use crate::model::usage::Usage;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A session is open; sent at start and after `Clear`, `Resume`, `SetModel` and `SetPermission`.
    Session(SessionInfo),
    /// The items of a resumed session, oldest first, for the transcript.
    History(Vec<Arc<Item>>),
    /// A turn has begun with this text (empty when it continues after a resume).
    TurnStarted {
        text: String,
    },
    /// A steering message was taken up by the running turn.
    Steered {
        text: String,
    },
    /// Messages that waited for the running turn and will not be taken up, oldest first.
    TakenBack {
        texts: Vec<String>,
    },
    /// A command of the user's own begins while no turn runs; it ends with `CommandEnded`.
    CommandStarted,
    CommandEnded,
    TextDelta(String),
    ReasoningDelta(String),
    /// A call is being written by the model; `bytes` of its arguments have arrived.
    CallArriving {
        name: String,
        bytes: usize,
    },
    /// The answer so far is void, the request is sent again in `wait_ms`.
    Retrying {
        attempt: u32,
        /// Tries in all, if the next ones fail in the same way.
        of: u32,
        wait_ms: u64,
        reason: String,
    },
    /// Nothing of the answer has come for `since_ms`; it is given up after `left_ms` more.
    Silent {
        since_ms: u64,
        left_ms: u64,
    },
    /// A finished assistant text or reasoning.
    Item {
        id: ItemId,
        item: Arc<Item>,
    },
    /// A call waits for those before it.
    ToolWaiting {
        call_id: Arc<str>,
        title: String,
    },
    ToolStarted {
        call_id: Arc<str>,
        tool: Arc<str>,
        /// One line for people, such as `Read src/a.rs:1-40`.
        title: String,
        args: Arc<str>,
    },
    /// The last lines of a running command's output.
    ToolProgress {
        call_id: Arc<str>,
        tail: String,
    },
    ToolDone {
        id: ItemId,
        result: Arc<ToolResult>,
    },
    /// The permission level changed.
    Permission(Permission),
    /// The mode of work changed.
    Mode(Mode),
    /// The agent waits for an answer.
    Ask {
        id: QuestionId,
        question: Question,
    },
    /// The question was answered or became pointless (interrupt).
    AskClosed {
        id: QuestionId,
    },
    /// The state of the window after a request was built or answered.
    Window(WindowState),
    /// The whole ledger, on `ShowContext` and after each change that the user made to it.
    Ledger(LedgerView),
    /// What became of one item, on `Explain`.
    ItemHistory(ItemHistory),
    /// The slash commands that the user has defined.
    Commands(Arc<[CommandRow]>),
    /// What was typed before, in all projects, newest first.
    Prompts(Arc<[PastPrompt]>),
    /// What stood in the composer of a program that ended.
    Draft {
        text: String,
    },
    Sessions(Vec<SessionRow>),
    /// The last messages of a stored session.
    SessionPreview {
        session: String,
        messages: Vec<PreviewMessage>,
    },
    /// The models to choose from, on `ListModels`.
    Models(Vec<ModelRow>),
    /// What is allowed beyond the permission level, on `ListRules` and after each change.
    Rules(Vec<RuleRow>),
    /// What holds here beyond what was told already, as names and values.
    Status(Vec<(String, String)>),
    /// The skills, and what they are.
    Skills(Vec<(String, String)>),
    /// What the session cost, as names and values; empty when nothing was sent yet.
    Cost(Vec<(String, String)>),
    /// What a background job has written last.
    JobOutput {
        id: u32,
        text: String,
    },
    /// All items of the session that stand, oldest first, those before a summary too.
    Transcript {
        /// The sub-agent whose they are.
        agent: Option<String>,
        items: Arc<[(ItemId, Arc<Item>)]>,
    },
    Changes(Changes),
    /// The points to go back to, newest first.
    RewindPoints(Vec<RewindPoint>),
    RewindPreview(RewindPreview),
    Rewound(RewindDone),
    /// Paths relative to the workspace, `/`-separated, folders with a trailing `/`; most useful first.
    Files(Arc<[String]>),
    /// The first of them, while the rest is still looked for.
    SomeFiles(Arc<[String]>),
    /// Something the user should know.
    Notice {
        level: Level,
        text: String,
    },
    /// A background job began or ended: all that are remembered, oldest first.
    Jobs(Vec<JobRow>),
    /// Layers that the sandbox lacks on this machine, in a few words.
    SandboxLacks(String),
    /// Compaction began or ended.
    Compacting {
        running: bool,
    },
    TurnEnded(TurnEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// What a front end shows of the open session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub id: String,
    pub model: String,
    pub provider: String,
    pub permission: Permission,
    #[serde(default)]
    pub mode: Mode,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// Number of user turns so far.
    pub turns: usize,
    /// Whether to ask if a rules file shall be made (SPEC §6).
    pub offer_init: bool,
}

/// How full the window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowState {
    /// Size of the last request, in tokens: reported by the server, else counted or estimated.
    pub used_tokens: u64,
    pub window_tokens: u64,
    /// Whether `used_tokens` is an estimate.
    pub estimated: bool,
    /// Sum over the session as reported.
    pub total: Usage,
    /// Sum over the session in US dollars, when the model's price is known.
    pub cost_usd: Option<f64>,
}

/// A background job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    pub id: u32,
    /// On one line.
    pub command: String,
    /// How it ended; `None` while it runs.
    pub ended: Option<String>,
}

/// A slash command of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRow {
    /// Without the slash.
    pub name: String,
    /// As its file says.
    pub args: String,
    pub help: String,
}

/// A prompt that was typed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPrompt {
    /// Milliseconds since the Unix epoch.
    #[serde(rename = "at")]
    pub at_ms: u64,
    /// The workspace in which it was typed.
    pub folder: String,
    pub text: String,
}

/// A stored session, for the resume list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub id: String,
    /// The first user message, on one line.
    pub title: String,
    pub turns: usize,
    /// Last change, milliseconds since the Unix epoch.
    pub updated_ms: u64,
    pub workspace: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    pub reason: EndReason,
    /// Model replies in this turn.
    pub steps: u32,
    /// Calls that were denied because nobody could be asked.
    pub denied: u32,
    /// Tokens of this turn as reported.
    pub usage: Usage,
    pub elapsed_ms: u64,
    /// The file of the plan that a turn in plan mode ended with, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

impl EndReason {
    /// The text that left the session, because nothing came of it.
    pub fn returned(&self) -> Option<&str> {
        match self {
            Self::ProviderFailed { prompt_returned, .. }
            | Self::Failed { prompt_returned, .. }
            | Self::Interrupted { prompt_returned } => prompt_returned.as_deref(),
            Self::Done | Self::StepLimit { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndReason {
    /// The model has nothing more to do.
    Done,
    /// The user wanted it; `prompt_returned` as below.
    Interrupted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_returned: Option<String>,
    },
    /// `max_steps` was reached.
    StepLimit { limit: u32 },
    /// No answer from the model; `prompt_returned` means that nothing of the turn was kept and the text should go
    /// back into the composer.
    ProviderFailed { message: String, hint: String, prompt_returned: Option<String> },
    /// The task could not be done (disk full, an answer with nothing in it, …); `prompt_returned` as above.
    Failed {
        message: String,
        hint: String,
        #[serde(default)]
        cause: FailureCause,
        #[serde(default)]
        prompt_returned: Option<String>,
    },
}

/// What made a turn fail, as far as front ends tell it apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The reply reached the output limit, or the end of the window.
    OutputLimit,
    /// The model declined, or a filter of its server.
    Refused,
    #[default]
    Other,
}
