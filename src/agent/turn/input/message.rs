//! What a turn begins with, and how a message that got no reply is given back.

use std::time::Duration;

use super::prompt_expansion::PromptExpander;
use crate::control::TurnControl;
use crate::session::conversation::Conversation;
use crate::turn::additions::skills::SkillHints;
use base::config::settings::Permission;
use base::model::item::{Item, ItemId};

#[derive(Default)]
pub struct TurnInput {
    /// What the user typed for the running turn, to return it if there is no reply.
    pub typed: Vec<String>,
    pub permission: Option<Permission>,
    /// Its turns are part of a parent's and not points to rewind to.
    pub sub_agent: bool,
    /// Its own instruction says that it only reads, and no mode beside it.
    pub only_reads: bool,
    /// A text can't be returned: a message without a reply stays in the session.
    pub no_composer: bool,
    /// A reminder for the next message, such as rewound files.
    pub reminder: Option<String>,
    pub told: Option<String>,
    /// What the goal's check said, for the model and for people: the next round begins with it.
    pub check_said: Option<(String, String)>,
    pub inject_notes: bool,
    pub asked: PromptExpander,
    pub offers: SkillHints,
    /// Time limit for finding the files of a new task; `None` if that is off.
    pub task_context: Option<Duration>,
}

impl TurnInput {
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
        if !to_composer {
            return None;
        }
        // Without it nothing was recorded yet.
        if let Some(first) = first {
            if !is_unanswered(conversation, first) {
                return None;
            }
            conversation.rewind(first).ok()?;
        }
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
