//! Builds the user's message with everything appended to it, and gives back one that got no reply. Appended
//! blocks are permanent, so that the prefix stays stable and a replay needs no disk.

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

/// Characters of task context per window token: 3 % of the window at about four characters per token.
const CHARS_PER_WINDOW_TOKEN: f64 = 0.03 * 4.0;

#[derive(Default)]
pub struct TurnInput {
    /// What the user typed for the running turn, to return it if there is no reply.
    pub typed: Vec<String>,
    /// The permission at the last request.
    pub permission: Option<Permission>,
    /// Its turns are part of a parent's and not points to rewind to.
    pub sub_agent: bool,
    /// A text can't be returned: a message without a reply stays in the session.
    pub no_composer: bool,
    /// A reminder for the next message, such as rewound files.
    pub reminder: Option<String>,
    /// The hooks' output for the next message.
    pub told: Option<String>,
    /// Whether to append relevant notes to a new task.
    pub inject_notes: bool,
    pub asked: Asked,
    pub offers: Offers,
    /// Time limit for finding the files of a new task; `None` if that is off.
    pub task_context: Option<Duration>,
}

impl TurnInput {
    /// The message for `text`. `context` is the block of a new task that will be appended too; `steering`
    /// means that it was typed during a turn.
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
        let budget = (self.inject_notes && !steering).then(|| notes::budget(window_tokens));
        let mut shown = budget.map(|_| notes::shown(conversation)).unwrap_or_default();
        shown.extend(context.into_iter().flat_map(notes::hint_marks).map(str::to_owned));
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

    /// The block with the files that a new task seems to be about. The wait is limited; what isn't ready in
    /// time is left out, and ready for the next task.
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

    /// Returns everything typed for an unanswered turn and removes it from the history; `None` if a reply
    /// came or the message stays. Headless it stays, so that the session can be continued, unless a filter
    /// refused the message itself: then it would spoil every later request.
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

/// Whether the turn contains only what was typed, and thinking.
fn is_unanswered(conversation: &Conversation, first: ItemId) -> bool {
    let entries = conversation.history.entries();
    let mut turn = entries.iter().skip_while(|entry| entry.id != first).peekable();
    turn.peek().is_some()
        && turn.all(|entry| {
            matches!(&*entry.item, Item::User(_) | Item::Reasoning(_) | Item::Reminder(_) | Item::Image(_))
        })
}

/// Facts about the machine for the first message: dynamic, so not in L1 (the fixed prompt).
pub fn environment(root: &Path) -> String {
    format!(
        "<system-reminder>Workspace: {}. {} {}. Today: {}.</system-reminder>",
        root.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        jiff::Zoned::now().date()
    )
}
