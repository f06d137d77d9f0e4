//! Skills in a turn: clearly relevant ones are mentioned once per session, a skill that the user calls is sent in
//! full, and loaded ones stay in the window and may use the tools they need.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::calls::policy_engine::PolicyEngine;
use crate::control::{Events, notice};
use crate::session::conversation::Conversation;
use base::model::envelope::Status;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::protocol::event::Level;
use base::protocol::notice as texts;
use base::sanitize;
use base::text::elide;
use context::history::entry::HistoryEntry;
use context::session::log::LogError;
use tools::plan::skill;
use tools::skill::set::{self, SkillSet};

/// Skills mentioned per message, and characters of each description.
const NAMED: usize = 2;
const NAMED_CHARS: usize = 240;
/// The newest loaded skills are pinned, up to 1/8 of the window.
const PART_OF_WINDOW: u64 = 8;
/// How the block of a called skill begins, and that of suggested skills.
const CALLED: &str = "<skill>";
const MAY_FIT: &str = "<skills>";

#[derive(Clone, Default)]
pub struct SkillHints {
    pub skills: Arc<SkillSet>,
    /// Paths and descriptions of rules that the model may read.
    pub rules: Arc<[(String, String)]>,
}

impl SkillHints {
    pub fn of(skills: &Arc<SkillSet>) -> Self {
        Self { skills: Arc::clone(skills), ..Self::default() }
    }

    pub fn called(&self, text: &str, root: &Path) -> Option<String> {
        let (skill, args) = self.skills.called(text)?;
        // Only the Skill tool can start the sub-agent that does this.
        let body = match skill.fork.is_some() && skill.for_model {
            true => format!("Call Skill with name \"{}\" and args \"{args}\" now.", skill.name),
            false => format!("{}\n\n[{}]", skill.instructions(args, root), skill.surroundings()),
        };
        Some(format!("{CALLED}\n{body}\n</skill>"))
    }

    /// The block with the skills and rules that clearly match `text`.
    pub fn may_fit(&self, text: &str, told: &HashSet<String>) -> Option<String> {
        let rules: Vec<(&str, &str)> = self.rules.iter().map(|(path, about)| (&**path, &**about)).collect();
        let rules: Vec<_> = set::clearly_about(text, &rules, NAMED).into_iter().map(|at| rules[at]).collect();
        let skills = self.skills.clearly_about(text, NAMED).into_iter();
        let skills: Vec<(&str, &str)> = skills.map(|skill| (&*skill.name, &*skill.description)).collect();
        let block = |heading: &str, named: &[(&str, &str)]| {
            let new = named.iter().filter(|(name, _)| !told.contains(*name));
            let lines: String =
                new.map(|(name, about)| format!("- {name}: {}\n", elide(about, NAMED_CHARS))).collect();
            if lines.is_empty() { lines } else { format!("{heading}:\n{}", sanitize::as_data(&lines)) }
        };
        let told = block("Skills that may fit this task; Skill loads one", &skills)
            + &block("Project rules that may apply; Read shows one", &rules);
        (!told.is_empty()).then(|| format!("{MAY_FIT}\n{told}</skills>"))
    }
}

pub fn told(conversation: &Conversation) -> HashSet<String> {
    let mut told = HashSet::new();
    for entry in conversation.state.history.entries() {
        match &*entry.item {
            Item::User(message) => {
                let blocks = message.injected.iter().filter(|block| block.starts_with(MAY_FIT));
                let lines = blocks.flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("- ")));
                told.extend(lines.filter_map(|line| Some(line.split_once(": ")?.0.to_owned())));
            }
            Item::ToolResult(result) if &*result.tool == skill::NAME => {
                told.extend(result.envelope.data.subject().map(str::to_owned));
            }
            _ => {}
        }
    }
    told
}

/// Pins a skill that the model has loaded, and allows the tools it needs for this turn.
pub fn loaded(
    (id, result): (ItemId, &ToolResult),
    conversation: &mut Conversation,
    window_tokens: u64,
    policy: &PolicyEngine,
    events: &Events,
) -> Result<(), LogError> {
    if &*result.tool != skill::NAME || result.envelope.status != Status::Success {
        return Ok(());
    }
    let data = &result.envelope.data;
    let tools = data.delegated().and_then(|skill| skill.allowed_tools.clone()).unwrap_or_default();
    allow(&format!("Skill {}", data.subject().unwrap_or_default()), tools, policy, events);
    keep(id, conversation, window_tokens)
}

pub fn allow(name: &str, tools: Vec<String>, policy: &PolicyEngine, events: &Events) {
    let (allowed, unused) = policy.allow_for_turn(&tools);
    if !allowed.is_empty() || !unused.is_empty() {
        notice(events, Level::Info, texts::skill_allows(name, &allowed, &unused));
    }
}

/// Pins a skill's item; unpins older ones if together they exceed their share of the window.
pub fn keep(id: ItemId, conversation: &mut Conversation, window_tokens: u64) -> Result<(), LogError> {
    let entries = conversation.state.history.entries().iter().rev();
    let holding: Vec<(ItemId, u64, bool)> = entries
        .filter(|entry| holds_skill(entry))
        .map(|entry| (entry.id, u64::from(entry.tokens()), entry.pinned))
        .collect();
    let mut taken = 0;
    let (mut pin, mut unpin) = (Vec::new(), Vec::new());
    for (held, tokens, pinned) in holding {
        taken += tokens;
        let stays = taken <= window_tokens / PART_OF_WINDOW;
        match (stays, pinned) {
            (true, false) if held == id => pin.push(held),
            (false, true) => unpin.push(held),
            _ => {}
        }
    }
    for (items, pinned) in [(pin, true), (unpin, false)] {
        if !items.is_empty() {
            conversation.pin(&items, pinned)?;
        }
    }
    Ok(())
}

pub fn is_call(message: &UserMessage) -> bool {
    message.injected.iter().any(|block| block.starts_with(CALLED))
}

fn holds_skill(entry: &HistoryEntry) -> bool {
    match &*entry.item {
        Item::User(message) => is_call(message),
        Item::ToolResult(result) => {
            &*result.tool == skill::NAME && result.envelope.body_key == "instructions"
        }
        _ => false,
    }
}
