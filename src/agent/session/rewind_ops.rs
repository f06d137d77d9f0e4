//! The engine's operations for going back. The disk work runs on the blocking pool.

use std::sync::Arc;

use super::conversation::Conversation;
use super::rewind;
use crate::agent::engine::Engine;
use crate::protocol::event::{Event, Level};
use crate::protocol::rewind::{PointId, RewindScope};

impl Engine {
    /// The undo journal follows the open session, and tells what the model does not know yet.
    pub async fn open_journal(&mut self) {
        let Some(journal) = self.core.dispatcher.cx.journal.clone() else { return };
        let session = self.core.conversation.id.clone();
        let opening = Arc::clone(&journal);
        let _ = tokio::task::spawn_blocking(move || opening.open(&session)).await;
        self.core.reminder = rewind::untold(&self.core.conversation, &journal);
    }

    /// Answers `Op::ListPoints`.
    pub fn list_points(&self) {
        if let Some(journal) = &self.core.dispatcher.cx.journal {
            let points = rewind::points(&self.core.conversation, journal);
            let _ = self.events.send(Event::RewindPoints(points));
        }
    }

    /// Answers `Op::PreviewRewind`.
    pub async fn preview_rewind(&self, id: PointId) {
        let Some(journal) = self.core.dispatcher.cx.journal.clone() else { return };
        let point = match rewind::point(&self.core.conversation, &journal, id) {
            Ok(point) => point,
            Err(error) => return self.notice(Level::Error, format!("{error}.")),
        };
        let items = rewind::items_since(&self.core.conversation, &point);
        let work = tokio::task::spawn_blocking(move || rewind::preview(&journal, point, items));
        if let Ok(preview) = work.await {
            let _ = self.events.send(Event::RewindPreview(preview));
        }
    }

    /// Answers `Op::Rewind`.
    pub async fn rewind(&mut self, id: PointId, part: RewindScope, force: bool) {
        let Some(journal) = self.core.dispatcher.cx.journal.clone() else { return };
        let mut conversation = std::mem::replace(
            &mut self.core.conversation,
            Conversation::new(&self.wiring.project_state, &self.wiring.workspace),
        );
        let work = tokio::task::spawn_blocking(move || {
            let done = rewind::rewind(&mut conversation, &journal, id, part, force);
            (conversation, done)
        });
        let done = match work.await {
            Ok((conversation, done)) => {
                self.core.conversation = conversation;
                done
            }
            Err(error) => return self.notice(Level::Error, format!("The rewind failed inside: {error}.")),
        };
        match done {
            Ok(done) => {
                self.core.reminder = rewind::reminder(&done).or(self.core.reminder.take());
                if done.part.conversation() {
                    let cx = &self.core.dispatcher.cx;
                    cx.files.clear();
                    cx.todos.set(Vec::new());
                    self.core.restore_working_state(self.core.conversation.todos());
                }
                self.core.last_estimate = self.core.build().ledger.total();
                self.announce();
                let level = if done.left.is_empty() { Level::Info } else { Level::Warning };
                self.notice(level, rewind::report(&done));
                let _ = self.events.send(Event::Rewound(done));
            }
            Err(error) => self.notice(Level::Error, format!("{error}.")),
        }
    }
}
