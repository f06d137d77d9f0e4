//! The input of a turn. A message that got no reply is returned, or waits: if the same text is sent again, it counts as
//! that message.

use std::path::Path;
use std::time::Duration;

use super::prompt_expansion::PromptExpander;
use crate::control::TurnControl;
use crate::session::conversation::Conversation;
use crate::turn::additions::skills::SkillHints;
use base::config::settings::{NoteLimits, Permission};
use base::model::item::{Image, Item, ItemId, UserMessage};
use base::pattern::Pattern;
use base::protocol::op::Attachment;
use base::repository;
use context::history::entry::HistoryEntry;
use context::session::log::LogError;
use guard::redact::redactor::Redactor;

#[derive(Default)]
pub struct TurnInput {
    /// What the user typed for the running turn, to return it if there is no reply.
    pub typed: Vec<String>,
    pub permission: Option<Permission>,
    /// Its turns belong to the parent's and aren't points to rewind to.
    pub sub_agent: bool,
    /// Its own instructions already say that it is read-only.
    pub only_reads: bool,
    /// Without a composer, a message without a reply stays in the session.
    pub no_composer: bool,
    /// A reminder to send with the next message, such as for rewound files.
    pub reminder: Option<String>,
    pub told: Option<String>,
    /// The output of the goal's check, for the model and for people, with which the next round begins.
    pub check_said: Option<(String, String)>,
    pub attachments: Vec<Attachment>,
    pub inject_notes: Option<NoteLimits>,
    pub asked: PromptExpander,
    pub offers: SkillHints,
    /// Time limit for finding the files of a new task; `None` if turned off.
    pub task_context: Option<Duration>,
}

impl TurnInput {
    /// Returns everything typed for an unanswered turn and removes it from the history; `None` if a reply
    /// came or the message stays. Headless it stays, so that the session can be continued, unless a filter
    /// refused the message: then it would spoil every later request.
    pub fn return_prompt(
        &mut self,
        first: Option<ItemId>,
        to_composer: bool,
        conversation: &mut Conversation,
        control: &TurnControl,
    ) -> Option<String> {
        if !to_composer || first.is_some_and(|first| !is_unanswered(conversation, first)) {
            return None;
        }
        // Otherwise nothing was recorded yet.
        if let Some(first) = first {
            conversation.rewind(first).ok()?;
        }
        self.typed.extend(control.take_typed());
        Some(self.typed.join("\n"))
    }
}

/// Whether the turn contains only what was typed, and thinking.
fn is_unanswered(conversation: &Conversation, first: ItemId) -> bool {
    let entries = conversation.state.history.entries();
    let mut turn = entries.iter().skip_while(|entry| entry.id != first).peekable();
    turn.peek().is_some()
        && turn.all(|entry| {
            matches!(&*entry.item, Item::User(_) | Item::Reasoning(_) | Item::Reminder(_) | Item::Image(_))
        })
}

/// The last message, if it is `text` and still has no reply.
pub fn waiting(
    text: &str,
    conversation: &Conversation,
    redactor: &Redactor,
) -> Option<(ItemId, UserMessage)> {
    let typed = redactor.redact_typed(text);
    let entries = conversation.state.history.entries().iter().rev();
    let aside = |entry: &&HistoryEntry| {
        matches!(&*entry.item, Item::Reasoning(_) | Item::Reminder(_) | Item::Image(_))
    };
    let last = entries.into_iter().find(|entry| !aside(entry))?;
    match &*last.item {
        Item::User(message) if !message.steering && *message.text == *typed => {
            Some((last.id, message.clone()))
        }
        _ => None,
    }
}

/// Removes that message and its images from the history.
pub fn take_waiting(
    text: &str,
    conversation: &mut Conversation,
    redactor: &Redactor,
) -> Result<Option<(UserMessage, Vec<Image>)>, LogError> {
    let Some((id, message)) = waiting(text, conversation, redactor) else { return Ok(None) };
    let behind = conversation.state.history.entries().iter().filter(|entry| entry.id > id);
    let images = behind.filter_map(|entry| match &*entry.item {
        Item::Image(image) => Some(image.clone()),
        _ => None,
    });
    let images = images.collect();
    conversation.rewind(id)?;
    Ok(Some((message, images)))
}

/// Whether the user or the project's rules mention commits. In a task's own branch they are always fine.
pub fn wants_commits(text: &str, conversation: &Conversation, rules: Option<&str>, root: &Path) -> bool {
    static SPOKEN_OF: Pattern = Pattern::new(include_str!("spoken_of.regex"));
    let entries = conversation.state.history.entries().iter();
    let earlier = entries.filter_map(|entry| match &*entry.item {
        Item::User(message) => Some(&*message.text),
        _ => None,
    });
    earlier.chain([text]).chain(rules).any(|said| SPOKEN_OF.is_match(said))
        || repository::branch(root).is_some_and(|branch| branch.starts_with("mycode/"))
}
