//! What a finished turn leaves: a record of its changes and, in plan mode, its plan as a project file for the user to
//! accept, change or refuse.

use std::path::Path;
use std::sync::Arc;

use crate::calls::dispatcher::Dispatcher;
use crate::control::{Events, TurnControl, notice};
use crate::parts::Agent;
use crate::work::earlier;
use base::clock;
use base::config::mode::Mode;
use base::file::{self, FileError};
use base::folder::atomic_write::{self, Expect};
use base::pattern::Pattern;
use base::process::task;
use base::protocol::approval::{Answer, PlanRequest, Question};
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use evidence::note::{digest, name};

const FOLDER: &str = ".mycode/plans";
const MAX_BYTES: u64 = 1 << 20;
const MAX_SAME: u32 = 100;

static HEADING: Pattern = Pattern::new(r"(?m)^##? ");

/// The plan in an answer, from its first heading on. Without a heading it is a question or chat.
fn plan_of(answer: &str) -> Option<&str> {
    let begin = HEADING.find(answer)?.start();
    Some(answer[begin..].trim_end())
}

/// Records what the turn changed, and writes the plan of a turn in plan mode to a file.
pub async fn keep(agent: &Agent, events: &Events) -> Option<PlanRequest> {
    let Agent { conversation, dispatcher, .. } = agent;
    if !agent.input.sub_agent {
        earlier::keep(conversation, &dispatcher.cx).await;
    }
    if dispatcher.policy.mode() != Mode::Plan {
        return None;
    }
    let text = plan_of(conversation.last_said()?)?.to_owned();
    let (root, plan) = (Arc::clone(dispatcher.root()), text.clone());
    match task::blocking(move || write(&root, &plan)).await.ok()? {
        Ok(path) => {
            notice(events, Level::Info, texts::plan_written(&path, dispatcher.interactive));
            Some(PlanRequest { path, text })
        }
        Err(error) => {
            notice(events, Level::Warning, texts::plan_not_written(error));
            None
        }
    }
}

fn write(root: &Path, plan: &str) -> Result<String, FileError> {
    let folder = root.join(FOLDER);
    let title = plan.lines().next().unwrap_or_default().trim_start_matches('#');
    let day =
        digest::time(clock::now_ms()).map_or_else(String::new, |time| time.strftime("%Y-%m-%d").to_string());
    let stem = format!("{day}-{}", name::slug(title));
    let text = format!("{plan}\n");
    for same in 1..=MAX_SAME {
        let file = if same == 1 { format!("{stem}.md") } else { format!("{stem}-{same}.md") };
        match atomic_write::write_exactly(&folder.join(&file), text.as_bytes(), Expect::Missing) {
            Ok(()) => return Ok(format!("{FOLDER}/{file}")),
            Err(FileError::Exists) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FileError::Exists)
}

/// Asks the user about a plan. Accepting it ends plan mode; the answer starts the next turn.
pub async fn ask(plan: PlanRequest, dispatcher: &Dispatcher, control: &TurnControl) {
    match control.questions.ask(Question::Plan(plan.clone()), &control.cancel).await {
        Some(Answer::Accept { permission }) => {
            dispatcher.policy.set_mode(Mode::Auto);
            let permission = dispatcher.policy.set_permission(permission);
            let _ = control.events.send(Event::Mode(Mode::Auto));
            let _ = control.events.send(Event::Permission(permission));
            let PlanRequest { path, text } = plan;
            let file = dispatcher.root().join(&path);
            let is_edited =
                move || file::small_text(&file, MAX_BYTES).is_none_or(|now| now.trim_end() != text);
            let edited = task::blocking(is_edited).await.unwrap_or(true);
            let how = if edited { "I have changed it: read it first" } else { "It is as you wrote it" };
            control.steer(format!(
                "Carry out the plan in {path}. {how}. Tick off its steps as you finish them."
            ));
        }
        Some(Answer::No { note }) if !note.is_empty() => control.steer(note),
        _ => {}
    }
}
