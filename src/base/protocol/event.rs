//! What the agent reports to front ends. A front end needs nothing else to draw the session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Question, QuestionId};
use super::goal::{GoalRound, GoalState};
use super::ledger::{ItemHistory, LedgerView};
use super::lists::{ModelRow, NoteRow, PreviewMessage, RuleRow};
use super::review::{Changes, ReviewOutcome};
use super::rewind::{RewindDone, RewindPoint, RewindPreview};
use crate::config::mode::Mode;
use crate::config::provider::saved_keys::VendorKey;
use crate::config::settings::Permission;
use crate::model::item::{Item, ItemId, ReminderTopic, ToolResult};
use crate::model::usage::{PriceUsed, Usage};

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A session is open; sent at start and after `Clear`, `Resume`, `SetModel` and `SetPermission`.
    Session(SessionInfo),
    /// The items of a resumed session, oldest first, for the transcript.
    History(Vec<Arc<Item>>),
    /// The text is empty if the turn continues after a resume.
    TurnStarted {
        text: String,
    },
    Steered {
        text: String,
    },
    /// Messages waiting for the running turn that it won't use, oldest first.
    TakenBack {
        texts: Vec<String>,
    },
    /// A user's command starts while no turn is running; ends with `CommandEnded`.
    CommandStarted,
    CommandEnded,
    TextDelta(String),
    ReasoningDelta(String),
    /// The model is writing a call; `bytes` of its arguments have arrived.
    CallArriving {
        name: String,
        bytes: usize,
    },
    /// The answer so far is void; the request is sent again in `wait_ms`.
    Retrying {
        attempt: u32,
        of: u32,
        wait_ms: u64,
        reason: String,
    },
    /// No data of the answer for `since_ms`; gives up after `left_ms` more (`None` while a local server reads the prompt).
    Silent {
        since_ms: u64,
        left_ms: Option<u64>,
        /// The server keeps the connection alive.
        alive: bool,
    },
    /// Finished assistant text or reasoning.
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
    /// The end of a running call's output.
    ToolProgress {
        call_id: Arc<str>,
        tail: String,
    },
    /// A call has run; its result follows in order.
    ToolRan {
        call_id: Arc<str>,
    },
    ToolDone {
        id: ItemId,
        result: Arc<ToolResult>,
    },
    Permission(Permission),
    Mode(Mode),
    Ask {
        id: QuestionId,
        question: Question,
    },
    /// The question was answered, or is no longer needed after an interrupt.
    AskClosed {
        id: QuestionId,
    },
    HostAnswer {
        id: String,
        answer: Result<Value, String>,
    },
    /// Sent after each request.
    Window(WindowState),
    /// Sent on `ShowContext` and after each user edit.
    Ledger(LedgerView),
    /// Sent on `Explain`.
    ItemHistory(ItemHistory),
    Commands(Arc<[CommandRow]>),
    /// From all projects, newest first.
    Prompts(Arc<[PastPrompt]>),
    /// What was left in the composer.
    Draft {
        text: String,
    },
    /// Sent on `ListSessions` and after each change.
    Sessions(Vec<SessionRow>),
    SessionPreview {
        session: String,
        messages: Vec<PreviewMessage>,
    },
    /// Sent on `ListModels`.
    Models(Vec<ModelRow>),
    /// Newest first; sent on `ListNotes` and after each change.
    Notes(Vec<NoteRow>),
    /// Sent on `ListKeys` and after each change.
    Keys(Vec<VendorKey>),
    /// The result of `SaveKey`, as a sentence.
    KeyChanged(Result<String, String>),
    /// Sent on `ListRules` and after each change.
    Rules(Vec<RuleRow>),
    /// Other settings in effect, as names and values.
    Status(Vec<(String, String)>),
    /// Names and descriptions.
    Skills(Vec<(String, String)>),
    Cost(Vec<(String, String)>),
    /// Sent on `ShowJob`.
    JobOutput {
        id: u32,
        text: String,
    },
    /// All items of the session that weren't rewound, oldest first, including those before a summary.
    Transcript {
        agent: Option<String>,
        items: Arc<[(ItemId, Arc<Item>)]>,
    },
    /// Sent on `ShowChanges` and after each change of a hunk.
    Changes(Changes),
    /// Newest first.
    RewindPoints(Vec<RewindPoint>),
    RewindPreview(RewindPreview),
    Rewound(RewindDone),
    /// Paths relative to the workspace, `/`-separated, folders with a trailing `/`; most useful first.
    Files(Arc<[String]>),
    /// The first files, while the search continues.
    SomeFiles(Arc<[String]>),
    Notice {
        level: Level,
        text: String,
    },
    /// A background job started or ended; contains all remembered jobs, oldest first.
    Jobs(Vec<JobRow>),
    /// Sandbox layers missing on this machine, in a few words.
    SandboxLacks(String),
    Compacting {
        running: bool,
    },
    /// The program sent the model a reminder.
    Nudge(Nudge),
    Review(ReviewOutcome),
    /// A goal was opened, or a round of it has ended.
    Goal(GoalState),
    TurnEnded(TurnEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

pub const NO_PROVIDER: &str = "none";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    pub id: String,
    pub model: String,
    pub provider: String,
    pub permission: Permission,
    /// The administrator may not allow `full`.
    pub most_permission: Permission,
    #[serde(default)]
    pub mode: Mode,
    pub workspace: String,
    pub turns: usize,
    /// Whether to offer to create a rules file.
    pub offer_init: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

impl SessionInfo {
    pub fn has_model(&self) -> bool {
        self.provider != NO_PROVIDER
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowState {
    /// Size of the last request in tokens: reported by the server, or else estimated.
    pub used_tokens: u64,
    pub window_tokens: u64,
    pub estimated: bool,
    pub total: Usage,
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub price: PriceUsed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    pub id: u32,
    pub command: String,
    pub ended: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRow {
    pub name: String,
    pub args: String,
    pub help: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPrompt {
    #[serde(rename = "at")]
    pub at_ms: u64,
    pub folder: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub id: String,
    /// The first user message, on one line.
    pub title: String,
    pub turns: usize,
    pub updated_ms: u64,
    pub workspace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What its turns changed, for searching.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
}

/// A reminder that the program sent the model because it noticed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nudge {
    pub kind: ReminderTopic,
    /// Counted within the turn, from 1.
    pub n: u32,
    pub text: String,
    /// One line for people.
    #[serde(skip)]
    pub short: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    pub reason: EndReason,
    pub steps: u32,
    /// Calls that were denied because no user could be asked.
    pub denied: u32,
    pub usage: Usage,
    pub elapsed_ms: u64,
    /// The plan file of a turn in plan mode, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The last call was denied, and no call followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied_at_end: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Protected files that appeared and were moved away, and held-back rules; headless only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Box<GoalRound>>,
}

/// A program started by the run that outlives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceRow {
    pub pid: u32,
    pub pgid: u32,
    pub command: String,
    pub log: String,
    pub stop: String,
}

impl EndReason {
    /// The text that left the session because nothing came of it.
    pub fn returned(&self) -> Option<&str> {
        match self {
            Self::ProviderFailed { prompt_returned, .. }
            | Self::Failed { prompt_returned, .. }
            | Self::Interrupted { prompt_returned } => prompt_returned.as_deref(),
            Self::Done | Self::StepLimit { .. } => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndReason {
    #[default]
    Done,
    /// By the user; `prompt_returned` as below.
    Interrupted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_returned: Option<String>,
    },
    /// `max_steps` was reached.
    StepLimit { limit: u32 },
    /// No answer from the model; with `prompt_returned`, nothing of the turn was kept and the text should
    /// return to the composer.
    ProviderFailed { message: String, hint: String, prompt_returned: Option<String> },
    /// The task couldn't be done (disk full, empty answer, …); `prompt_returned` as above.
    Failed {
        message: String,
        hint: String,
        #[serde(default)]
        cause: FailureCause,
        #[serde(default)]
        prompt_returned: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The reply reached the output limit or the end of the window.
    OutputLimit,
    Refused,
    /// The same call failed repeatedly.
    Stuck,
    Empty,
    CostLimit,
    Deadline,
    Schema,
    /// The goal's check repeats itself, or a round changed nothing.
    NoProgress,
    Denied,
    #[default]
    Other,
}

/// Marks the reason of a retry that waits out an outage.
pub const WAITING: &str = "waiting since";

pub const LOADING: &str = "waiting for the local server to load the model and read the prompt";

/// Describes a silent server; without a limit, it is a local one that reads the prompt.
pub fn silence(since: &str, left: Option<String>, alive: bool) -> String {
    let what = if alive { "connected, but no answer" } else { "no data from the server" };
    match left {
        Some(left) => format!("{what} for {since}; giving up in {left}"),
        None => format!("{LOADING}: {since}"),
    }
}
