//! What the agent reports to front ends. Complete: a front end needs nothing else to draw the session.

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
    TurnStarted { text: String },
    /// A message joined the running turn.
    Steered { text: String },
    /// Messages waiting for the running turn that it won't pick up, oldest first.
    TakenBack { texts: Vec<String> },
    /// A user's command starts while no turn is running; ends with `CommandEnded`.
    CommandStarted,
    /// No command of the user's runs any more.
    CommandEnded,
    /// The next piece of the answer.
    TextDelta(String),
    /// The next piece of the reasoning.
    ReasoningDelta(String),
    /// The model is writing a call; `bytes` of its arguments have arrived.
    CallArriving { name: String, bytes: usize },
    /// The answer so far is void; the request is sent again in `wait_ms`.
    Retrying { attempt: u32, of: u32, wait_ms: u64, reason: String },
    /// No piece of the answer has arrived for `since_ms`; gives up after `left_ms` more; `None` while a local
    /// server reads the prompt.
    Silent {
        since_ms: u64,
        left_ms: Option<u64>,
        /// The server keeps the connection alive.
        alive: bool,
    },
    /// Finished assistant text or reasoning.
    Item { id: ItemId, item: Arc<Item> },
    /// A call is waiting for those before it.
    ToolWaiting { call_id: Arc<str>, title: String },
    /// A call runs.
    ToolStarted {
        call_id: Arc<str>,
        tool: Arc<str>,
        /// One line for people, such as `Read src/a.rs:1-40`.
        title: String,
        args: Arc<str>,
    },
    /// The end of what a running call has printed.
    ToolProgress { call_id: Arc<str>, tail: String },
    /// A call has run. Its result follows in order.
    ToolRan { call_id: Arc<str> },
    /// A call has ended.
    ToolDone { id: ItemId, result: Arc<ToolResult> },
    /// The level in effect.
    Permission(Permission),
    /// The mode in effect.
    Mode(Mode),
    /// The agent waits for an answer.
    Ask { id: QuestionId, question: Question },
    /// The question was answered or became pointless (interrupt).
    AskClosed { id: QuestionId },
    /// To a request of the program that started us.
    HostAnswer { id: String, answer: Result<Value, String> },
    /// After each request.
    Window(WindowState),
    /// The full ledger, on `ShowContext` and after each user edit.
    Ledger(LedgerView),
    /// On `Explain`.
    ItemHistory(ItemHistory),
    /// The slash commands of this session.
    Commands(Arc<[CommandRow]>),
    /// In all projects, newest first.
    Prompts(Arc<[PastPrompt]>),
    /// What was in the composer when it was last left.
    Draft { text: String },
    /// On `ListSessions` and after each change.
    Sessions(Vec<SessionRow>),
    /// On `PreviewSession`.
    SessionPreview { session: String, messages: Vec<PreviewMessage> },
    /// On `ListModels`.
    Models(Vec<ModelRow>),
    /// The project's notes, newest first, on `ListNotes` and after each change.
    Notes(Vec<NoteRow>),
    /// The vendors and their keys, on `ListKeys` and after each change.
    Keys(Vec<VendorKey>),
    /// What became of `SaveKey`, in a sentence.
    KeyChanged(Result<String, String>),
    /// What is allowed beyond the permission level, on `ListRules` and after each change.
    Rules(Vec<RuleRow>),
    /// Further settings in effect, as names and values.
    Status(Vec<(String, String)>),
    /// Their names and what they are for.
    Skills(Vec<(String, String)>),
    /// What the session cost, as names and values.
    Cost(Vec<(String, String)>),
    /// On `ShowJob`.
    JobOutput { id: u32, text: String },
    /// All items of the session that weren't rewound, oldest first, including those before a summary.
    Transcript {
        /// The sub-agent they belong to.
        agent: Option<String>,
        items: Arc<[(ItemId, Arc<Item>)]>,
    },
    /// On `ShowChanges` and after each change of a hunk.
    Changes(Changes),
    /// On `ListPoints`, newest first.
    RewindPoints(Vec<RewindPoint>),
    /// On `PreviewRewind`.
    RewindPreview(RewindPreview),
    /// What a rewind did.
    Rewound(RewindDone),
    /// Paths relative to the workspace, `/`-separated, folders with a trailing `/`; most useful first.
    Files(Arc<[String]>),
    /// The first of them, while the search continues.
    SomeFiles(Arc<[String]>),
    /// A word for the user.
    Notice { level: Level, text: String },
    /// A background job started or ended: all remembered ones, oldest first.
    Jobs(Vec<JobRow>),
    /// Sandbox layers missing on this machine, in a few words.
    SandboxLacks(String),
    /// Whether older turns are being summarized.
    Compacting { running: bool },
    /// The program told the model something.
    Nudge(Nudge),
    /// A reviewer has read the changes.
    Review(ReviewOutcome),
    /// A goal is open, or a round of it has ended.
    Goal(GoalState),
    /// The turn is over.
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
    /// The administrator may allow less than `full`.
    pub most_permission: Permission,
    #[serde(default)]
    pub mode: Mode,
    pub workspace: String,
    pub turns: usize,
    /// Whether to offer to create a rules file.
    pub offer_init: bool,
    /// How long the model may think, if that was chosen.
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
    /// Size of the last request, in tokens: reported by the server, else estimated.
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
    /// How it ended; `None` while running.
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
    /// It belongs to another folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// A run without a user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
}

/// What the program told the model on its own account, because it saw something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nudge {
    pub kind: ReminderTopic,
    /// Counted within the turn, from 1.
    pub n: u32,
    pub text: String,
    /// For people, on one line.
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
    /// The last call was denied, and the model made none after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied_at_end: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Protected files that appeared and were moved away, and rules that are held back; headless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Box<GoalRound>>,
}

/// A program that the run started and that outlives it.
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
    /// The model has nothing more to do.
    #[default]
    Done,
    /// By the user; `prompt_returned` as below.
    Interrupted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_returned: Option<String>,
    },
    /// `max_steps` was reached.
    StepLimit { limit: u32 },
    /// No answer from the model; with `prompt_returned`, nothing of the turn was kept and the text should go
    /// back into the composer.
    ProviderFailed { message: String, hint: String, prompt_returned: Option<String> },
    /// The task couldn't be done (disk full, an empty answer, …); `prompt_returned` as above.
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
    /// The reply reached the output limit, or the end of the window.
    OutputLimit,
    Refused,
    /// The same call failed again and again.
    Stuck,
    Empty,
    CostLimit,
    Deadline,
    Schema,
    /// The goal's check says the same again and again, or a round changed nothing.
    NoProgress,
    Denied,
    #[default]
    Other,
}

/// In the reason of a retry that waits out an outage; with the times.
pub const WAITING: &str = "waiting since";

pub const LOADING: &str = "waiting for the local server to load the model and read the prompt";

/// What is said of a server that has been silent for that long; without a limit, it is a local one that reads the prompt.
pub fn silence(since: &str, left: Option<String>, alive: bool) -> String {
    let what = if alive { "connected, but no answer" } else { "no data from the server" };
    match left {
        Some(left) => format!("{what} for {since}; giving up in {left}"),
        None => format!("{LOADING}: {since}"),
    }
}
