//! The person's message as it enters the session: redacted, with what belongs behind it.

use super::core::Core;
use crate::context::compress::redact;
use crate::context::mention;
use crate::model::item::UserMessage;
use crate::search::fuzzy;

impl Core {
    /// What the person typed, with what belongs behind it.
    pub fn user_message(&self, text: &str, steering: bool) -> UserMessage {
        let root = self.dispatcher.root();
        let mut message = UserMessage::new(&redact::redact(text));
        message.steering = steering;
        let nearest = |wanted: &str| fuzzy::nearest(root, wanted, 1).into_iter().next().map(|(path, _)| path);
        if let Some(reminder) = mention::reminder(text, root, nearest) {
            message.injected.push(reminder.into());
        }
        if self.conversation.history.entries().is_empty() {
            message.injected.push(self.surroundings().into());
        }
        message
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
