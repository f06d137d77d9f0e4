//! The user's message as it enters the history: the text as typed, then what belongs behind it. What is put there is
//! part of the message for good, so that the prefix stays stable and a replay needs no disk.

use std::collections::HashSet;
use std::sync::Arc;

use super::note_hints;
use crate::agent::core::Core;
use crate::base::clock;
use crate::context::mention;
use crate::context::tokens::estimate;
use crate::model::item::{Item, UserMessage};
use crate::note::frame;
use crate::note::record::Note;
use crate::note::retrieve::{self, Task};
use crate::note::store::Store;
use crate::redact::detector::TextSource;
use crate::search::fuzzy;

/// What notes may take of a request, in tokens, and at most which part of the window.
const MAX_NOTE_TOKENS: u64 = 800;
const NOTE_PART_OF_WINDOW: u64 = 40;

impl Core {
    /// What the user typed, with what belongs behind it. `context` is the block of a new task that will stand there too.
    pub fn user_message(&self, text: &str, steering: bool, context: Option<&str>) -> UserMessage {
        let root = self.dispatcher.root();
        let mut message = UserMessage::new(&self.dispatcher.cx.vault.redact_typed(text));
        message.steering = steering;
        let nearest = |wanted: &str| fuzzy::nearest(root, wanted, 1).into_iter().next().map(|(path, _)| path);
        if let Some(reminder) = mention::reminder(text, root, nearest) {
            message.injected.push(reminder.into());
        }
        let ended = self.dispatcher.cx.shell.jobs.take_ended();
        if !ended.is_empty() {
            let text = format!("<system-reminder>Meanwhile {}.</system-reminder>", ended.join("; "));
            message.injected.push(text.into());
        }
        if self.inject_notes
            && !steering
            && let Some(notes) = self.notes(text, context)
        {
            message.injected.push(notes);
        }
        if self.conversation.history.entries().is_empty() {
            message.injected.push(self.surroundings().into());
        }
        message
    }

    /// The notes that belong to the task and are not in front of the model already. Notes are a help: what is wrong with
    /// their folder is for `mycode notes` to say, not for a turn to fail on.
    fn notes(&self, text: &str, context: Option<&str>) -> Option<Arc<str>> {
        let store = Store::new(self.dispatcher.root());
        let listing = store.list().ok()?;
        let mut shown = self.shown_notes();
        shown.extend(context.into_iter().flat_map(note_hints::marks).map(str::to_owned));
        let files: Vec<String> = mention::mentions(text).into_iter().map(|mention| mention.path).collect();
        let budget = (self.context.window_tokens / NOTE_PART_OF_WINDOW).min(MAX_NOTE_TOKENS);
        let mut packets = retrieve::retrieve(
            &store,
            &listing,
            &Task {
                text,
                files: &files,
                budget_tokens: u32::try_from(budget).unwrap_or(u32::MAX),
                tokens: &estimate::estimate,
                shown: &|note: &Note| shown.contains(&frame::mark(&note.id, retrieve::version(note))),
                now_ms: clock::now_ms(),
            },
        );
        // The frame counts too; what goes first is what came last.
        while let Some(block) = frame::block(&packets) {
            let block = self.dispatcher.cx.vault.redact(&block, TextSource::Text);
            if u64::from(estimate::estimate(&block)) <= budget {
                return Some(block.into());
            }
            packets.pop();
        }
        None
    }

    /// The marks of the notes that the history holds. What was archived with its round may be shown again.
    pub fn shown_notes(&self) -> HashSet<String> {
        let messages = self.conversation.history.entries().iter().filter_map(|entry| match &*entry.item {
            Item::User(message) => Some(message),
            _ => None,
        });
        let blocks = messages.flat_map(|message| &message.injected);
        let marks = |block: &Arc<str>| {
            let hinted = note_hints::marks(block).map(str::to_owned);
            frame::marks(block).into_iter().chain(hinted).collect::<Vec<_>>()
        };
        blocks.flat_map(marks).collect()
    }

    /// What a first message says of the machine: dynamic, therefore not in L1.
    fn surroundings(&self) -> String {
        format!(
            "<system-reminder>Workspace: {}. {} {}. Today: {}.</system-reminder>",
            self.dispatcher.root().display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            jiff::Zoned::now().date()
        )
    }
}
