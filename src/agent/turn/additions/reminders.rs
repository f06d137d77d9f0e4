//! What the program tells the model during a session: changed todos, rules and permissions, the step limit.
//! Each is appended once and never changed. What was said last is read from the history, so that a resumed,
//! compacted or rewound session is told again what it lost.

use std::path::Path;
use std::sync::Arc;

use crate::control::{Events, TurnControl, notice};
use crate::hooks::turn_hooks::{self, MaybeHooks};
use crate::session::conversation::Conversation;
use crate::window::context_window::ContextWindow;
use crate::window::fixed_prompt::FixedPrompt;
use base::config::mode::Mode;
use base::config::prompts;
use base::config::settings::Permission;
use base::model::item::{Item, ItemId, ReminderTopic};
use base::path;
use base::protocol::event::Level;
use base::protocol::notice as texts;
use context::rules::rules_file::RulesNotice;
use context::session::log::LogError;
use tools::plan::todo_board::{self, TodoBoard};

/// Steps before the step limit at which the model is told, in turns of at least four times as many.
const LAST_STEPS: u32 = 10;

/// A turn with this many results and so little text is asked for its findings before its first fold.
const LONG_TURN_RESULTS: usize = 4;
const WORDS_BYTES: usize = 400;

const FOLD: &str = "Earlier steps of this turn will soon be folded into a short note that keeps your own words. \
    Begin your next reply with what you found and what you plan, in a few sentences, and make the next call.";

/// Added in plan mode, unless headless.
const ASKS: &str = "; ask with AskUser where a wrong guess would be costly";

/// Sends a recap of the todo list if an item is open.
pub fn todos(conversation: &mut Conversation, todos: &TodoBoard) -> Result<(), LogError> {
    match todo_board::recap(&todos.get()) {
        Some(recap) => tell(conversation, ReminderTopic::Todos, format!("Todos {recap}")),
        None => Ok(()),
    }
}

/// Sends changed rules files; returns whether it did. The text is pinned, so it survives compaction.
pub fn rules(conversation: &mut Conversation, prompt: &FixedPrompt) -> Result<bool, LogError> {
    let now = prompt.rules.part().map(|part| Arc::clone(&part.content));
    let text = match &now {
        Some(text) => format!(
            "<system-reminder>The project rules changed. These replace the earlier ones:\n\n{text}</system-reminder>"
        ),
        None => "<system-reminder>The project rules were removed and no longer apply.</system-reminder>"
            .to_owned(),
    };
    let told = last(conversation, ReminderTopic::Rules);
    let known = match &told {
        Some((_, said)) => **said == *text,
        None => now.as_deref() == prompt.sent_rules.as_ref().map(|part| &*part.content),
    };
    if known {
        return Ok(false);
    }
    if let Some((id, _)) = told {
        conversation.pin(&[id], false)?;
    }
    tell(conversation, ReminderTopic::Rules, text)?;
    let id = conversation.last_item();
    conversation.pin(&[id], true)?;
    Ok(true)
}

pub fn permission(
    conversation: &mut Conversation,
    before: Option<Permission>,
    now: Permission,
) -> Result<(), LogError> {
    if before.is_none_or(|before| before == now) {
        return Ok(());
    }
    let means = match now {
        Permission::ReadOnly => "nothing may be changed",
        Permission::Ask => "the user is asked before anything is changed",
        Permission::AcceptEdits => {
            "files in the workspace are edited without asking; the user is asked before commands"
        }
        Permission::Auto => "work inside the workspace doesn't need approval",
        Permission::Full => "everything is allowed",
    };
    tell(
        conversation,
        ReminderTopic::Permission,
        format!("The permission is now {}: {means}.", now.into_str()),
    )
}

/// Sends the scoped rules for touched files, unless they are still in the history.
pub fn rules_of_touched(conversation: &mut Conversation, sections: Vec<String>) -> Result<(), LogError> {
    for section in sections {
        let text = format!(
            "<system-reminder>These project rules apply to files that your calls touched:\n\n{section}</system-reminder>"
        );
        let is_it = |item: &Item| matches!(item, Item::Reminder(known) if known.about == ReminderTopic::ScopedRules && *known.text == *text);
        let entries = conversation.state.history.entries();
        if !entries.iter().any(|entry| entry.message().is_some() && is_it(&entry.item)) {
            conversation.remind(ReminderTopic::ScopedRules, text)?;
        }
    }
    Ok(())
}

pub fn mode(conversation: &mut Conversation, now: Mode, interactive: bool) -> Result<(), LogError> {
    if now == Mode::Auto && last(conversation, ReminderTopic::Mode).is_none() {
        return Ok(());
    }
    let text = match now {
        Mode::Auto => prompts::MODE_AUTO,
        Mode::Explore => prompts::MODE_EXPLORE,
        Mode::Analyze => prompts::MODE_ANALYZE,
        Mode::Plan => prompts::MODE_PLAN,
    };
    let mut text = text.trim().to_owned();
    if !interactive {
        text = text.replace(ASKS, "; say what you assumed where the task leaves something open");
    }
    tell(conversation, ReminderTopic::Mode, text)
}

pub fn steps(conversation: &mut Conversation, limit: u32, done: u32) -> Result<(), LogError> {
    if limit < 4 * LAST_STEPS || limit - done != LAST_STEPS {
        return Ok(());
    }
    let text = format!("{LAST_STEPS} steps are left in this turn: finish, or say what remains to be done.");
    tell(conversation, ReminderTopic::Steps, text)
}

/// Before the first fold of a turn with little text, asks the model for its findings: only its own words survive in full.
pub fn fold(conversation: &mut Conversation, window: &ContextWindow) -> Result<(), LogError> {
    if !window.sizes(conversation).fold_is_near() {
        return Ok(());
    }
    let history = &conversation.state.history;
    let (mut said, mut results) = (0, 0);
    for entry in &history.entries()[history.turn_start()..] {
        match &*entry.item {
            Item::Reminder(reminder) if reminder.about == ReminderTopic::Fold => return Ok(()),
            Item::Assistant { text, .. } => said += text.len(),
            Item::ToolResult(_) => results += 1,
            _ => {}
        }
    }
    if said >= WORDS_BYTES || results < LONG_TURN_RESULTS {
        return Ok(());
    }
    conversation.remind(ReminderTopic::Fold, FOLD).map(drop)
}

/// Warns the user about problems with the rules files; returns those that are held back.
pub fn tell_of_rules(window: &mut ContextWindow, root: &Path, events: &Events) -> Vec<String> {
    let mut held_back = Vec::new();
    let window_tokens = window.settings().window_tokens;
    for about in window.prompt.rules.take_notices() {
        let shown = |path: &Path| path::display(root, path);
        let text = match &about {
            RulesNotice::Cut => texts::rules_truncated(window_tokens),
            RulesNotice::LeftOut { path, why } => texts::rules_left_out(&shown(path), why),
            RulesNotice::Hidden { path, count } => texts::rules_hide_characters(&shown(path), *count),
            RulesNotice::HeldBack { path } => {
                held_back.push(shown(path));
                texts::rules_held_back(&shown(path))
            }
            RulesNotice::NotImported { path, by } => texts::rules_not_imported(&shown(path), &shown(by)),
        };
        notice(events, Level::Warning, text);
    }
    held_back
}

/// Asks the hooks whether a turn may end; returns whether it continues. `before` counts earlier continuations.
pub async fn end_of_turn(
    conversation: &mut Conversation,
    hooks: &MaybeHooks,
    before: u32,
    control: &TurnControl,
) -> Result<bool, LogError> {
    let Some(hooks) = hooks else { return Ok(false) };
    let said = conversation.last_said().cloned().unwrap_or_default();
    let Some(text) = turn_hooks::stop(hooks, before, &said, &control.cancel).await else { return Ok(false) };
    conversation.remind(ReminderTopic::Hooks, text)?;
    Ok(true)
}

fn tell(conversation: &mut Conversation, about: ReminderTopic, text: String) -> Result<(), LogError> {
    if about != ReminderTopic::Steps && last(conversation, about).is_some_and(|(_, said)| *said == *text) {
        return Ok(());
    }
    conversation.remind(about, text).map(drop)
}

fn last(conversation: &Conversation, about: ReminderTopic) -> Option<(ItemId, Arc<str>)> {
    let entries = conversation.state.history.entries().iter().rev().filter(|entry| entry.message().is_some());
    entries.into_iter().find_map(|entry| match &*entry.item {
        Item::Reminder(reminder) if reminder.about == about => Some((entry.id, Arc::clone(&reminder.text))),
        _ => None,
    })
}
