//! What a front end can ask of the agent.

use super::approval::{Answer, QuestionId};
use crate::config::settings::Permission;

/// One operation. The engine takes them in order; `Interrupt` and `Answer` also act while a turn runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A new user message. While a turn runs it is steering: taken up at the next step.
    Submit {
        text: String,
    },
    /// Stop the running turn; what was finished stays.
    Interrupt,
    Answer {
        id: QuestionId,
        answer: Answer,
    },
    /// Replace old rounds by a summary now; `focus` says what must be kept in detail.
    Compact {
        focus: Option<String>,
    },
    SetModel {
        model: String,
    },
    SetPermission {
        permission: Permission,
    },
    /// Leave this session and begin an empty one.
    Clear,
    /// Leave this session and continue another.
    Resume {
        session: String,
    },
    /// Ask for a fresh `Event::Ledger`.
    ShowContext,
    /// Ask for `Event::Sessions`.
    ListSessions,
    /// End a background job.
    StopJob {
        id: u32,
    },
    /// Write the rules file (`/init`): runs a turn with the built-in prompt.
    Init,
    /// Remember that this project shall not be asked about a rules file again.
    DeclineInit,
    /// List files for the `@` popup under `root`; answered by `Event::Files`.
    ListFiles,
    /// End; the engine finishes its writes and drops the event sender.
    Shutdown,
}
