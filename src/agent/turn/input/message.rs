//! What goes into a turn: the user's message, with what belongs behind it, and what becomes of a message to which no
//! reply came. What is put behind a message is part of it for good, so that the prefix stays stable and a replay needs no
//! disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::asked::Asked;
use super::images;
use crate::control::TurnControl;
use crate::session::conversation::Conversation;
use crate::turn::additions::notes;
use crate::turn::additions::skills::{self, Offers};
use base::config::settings::Permission;
use base::model::item::{Item, ItemId, UserMessage};
use base::sanitize;
use base::search::fuzzy;
use context::mention;
use evidence::task_context::DEFAULT_MAX_CHARS;
use tools::cx::ToolCx;

/// Characters of task context per token of the window: three in a hundred tokens, at about four characters each.
const CHARS_PER_WINDOW_TOKEN: f64 = 0.03 * 4.0;

/// The input of turns.
#[derive(Default)]
pub struct TurnInput {
    /// What the user typed for the running turn, to give it back when the turn comes to nothing.
    pub typed: Vec<String>,
    /// The permission under which the model was asked last.
    pub permission: Option<Permission>,
    /// Its turns belong to those of a parent: they are no points to go back to.
    pub sub_agent: bool,
    /// Nobody takes back the text of a message that came to nothing: it stays in the session.
    pub no_composer: bool,
    /// What the model must be told with the next message: files that were rewound.
    pub reminder: Option<String>,
    /// What the user's hooks have to say to the next message.
    pub told: Option<String>,
    /// Whether notes that belong to a new task are put behind its text.
    pub inject_notes: bool,
    /// Slash commands, and prompts and resources of servers.
    pub asked: Asked,
    /// Skills, and rules that the model may want to read.
    pub offers: Offers,
    /// How long the files of a new task may be looked for; `None` when that is switched off.
    pub task_context: Option<Duration>,
}

impl TurnInput {
    /// What the user typed, with what belongs behind it. `context` is the block of a new task that will stand there too;
    /// `steering` says that it was typed while a turn ran.
    pub async fn message(
        &self,
        text: &str,
        steering: bool,
        context: Option<&str>,
        conversation: &Conversation,
        cx: &ToolCx,
        window_tokens: u64,
    ) -> UserMessage {
        let mut message = UserMessage::new(&cx.redactor.redact_typed(text));
        message.steering = steering;
        // Looking for mentioned files and for notes reads the disk.
        let budget = (self.inject_notes && !steering).then(|| notes::budget(window_tokens));
        let mut shown = budget.map(|_| notes::shown(conversation)).unwrap_or_default();
        shown.extend(context.into_iter().flat_map(notes::hint_marks).map(str::to_owned));
        // What a command stands for is what was asked.
        let prompt = self.asked.prompt(text).await;
        if let Some(prompt) = &prompt {
            let block = format!("<command>\n{prompt}\n</command>");
            message.injected.push(cx.redactor.redact_typed(&block).into());
        }
        let asked = prompt.as_deref().unwrap_or(text);
        let (offers, own) = (self.offers.clone(), prompt.is_some());
        let (command, told) = (text.to_owned(), skills::told(conversation));
        let (typed, root, redactor) = (asked.to_owned(), Arc::clone(&cx.root), Arc::clone(&cx.redactor));
        let tray = Arc::clone(&cx.images);
        let looked_up = tokio::task::spawn_blocking(move || {
            let nearest =
                |wanted: &str| fuzzy::nearest(&root, wanted, 1).into_iter().next().map(|(path, _)| path);
            let mentioned = mention::reminder(&typed, &root, nearest);
            let images = images::attach(&typed, &root, &tray);
            let notes = budget.and_then(|budget| notes::block(&typed, &root, &redactor, &shown, budget));
            let called = offers.called(&command, &root).filter(|_| !own);
            let skill = called.or_else(|| offers.may_fit(&typed, &told).filter(|_| !steering));
            let skill = skill.map(|block| redactor.redact_typed(&block).into_owned());
            (mentioned, images, notes, skill)
        });
        let (mentioned, images, notes, skill) = looked_up.await.unwrap_or_default();
        message.injected.extend(skill.into_iter().chain(mentioned).chain(images).map(Arc::from));
        message.injected.extend(self.asked.resources(asked, cx).await);
        let ended = cx.shell.jobs.take_ended();
        if !ended.is_empty() {
            let text = format!("<system-reminder>Meanwhile {}.</system-reminder>", ended.join("; "));
            message.injected.push(text.into());
        }
        message.injected.extend(notes);
        if conversation.history.entries().is_empty() {
            message.injected.push(environment(&cx.root).into());
        }
        message
    }

    /// The block that names the files which a new task seems to be about. A turn waits for it no longer than a model takes
    /// for its first word: what is not ready in time is left out, and ready for the next task.
    pub async fn task_context(
        &self,
        text: &str,
        conversation: &Conversation,
        cx: &ToolCx,
        window_tokens: u64,
    ) -> Option<String> {
        let timeout = self.task_context?;
        let retriever = cx.evidence.clone()?;
        if !retriever.is_new_task(text) {
            return None;
        }
        let (asked, task) = (Arc::clone(&retriever), text.to_owned());
        let work = tokio::task::spawn_blocking(move || asked.task_context(&task));
        let found = tokio::time::timeout(timeout, work).await.ok()?.ok()?;
        retriever.remember(text);
        let mut found = found?;
        let shown = notes::shown(conversation);
        found.hints.retain(|hint| !notes::hint_mark(hint).is_some_and(|mark| shown.contains(mark)));
        if found.is_empty() {
            return None;
        }
        let most_chars = (window_tokens as f64 * CHARS_PER_WINDOW_TOKEN) as usize;
        let body = sanitize::as_data(&found.serialize(most_chars.min(DEFAULT_MAX_CHARS)));
        Some(format!(
            "<task-context>Files that this task may be about, found by words, names and git; check before relying on it.\n{body}\n</task-context>"
        ))
    }

    /// Gives everything back that was typed for the running turn, of which nothing was answered: it leaves the history.
    /// `None` where a reply came, or the message stays.
    ///
    /// Where a user sits before a composer the text goes back there. Headless it stays in the session, which can be told
    /// to continue, unless a filter refused the message itself: then it would spoil every later request.
    pub fn return_prompt(
        &mut self,
        first: Option<ItemId>,
        to_composer: bool,
        conversation: &mut Conversation,
        control: &TurnControl,
    ) -> Option<String> {
        let first = first.filter(|_| to_composer)?;
        if !is_unanswered(conversation, first) {
            return None;
        }
        conversation.rewind(first).ok()?;
        self.typed.extend(control.take_typed());
        Some(self.typed.join("\n"))
    }
}

/// Whether the turn holds nothing but what was typed, and thinking.
fn is_unanswered(conversation: &Conversation, first: ItemId) -> bool {
    let entries = conversation.history.entries();
    let mut turn = entries.iter().skip_while(|entry| entry.id != first).peekable();
    turn.peek().is_some()
        && turn.all(|entry| {
            matches!(&*entry.item, Item::User(_) | Item::Reasoning(_) | Item::Reminder(_) | Item::Image(_))
        })
}

/// What a first message says of the machine: dynamic, therefore not in L1.
pub fn environment(root: &Path) -> String {
    format!(
        "<system-reminder>Workspace: {}. {} {}. Today: {}.</system-reminder>",
        root.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        jiff::Zoned::now().date()
    )
}
