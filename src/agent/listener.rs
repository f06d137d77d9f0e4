//! Handles operations during a turn: some act at once, others wait for its end.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::control::{Events, TurnControl};
use super::deps::EngineDeps;
use super::quick_ops::quick_op;
use super::session::inspect;
use crate::calls::policy_engine::PolicyEngine;
use base::config::settings::ContextSettings;
use base::protocol::event::Event;
use base::protocol::op::Op;

pub type Ops = mpsc::UnboundedReceiver<Op>;

pub struct Listener<'a> {
    pub policy: &'a PolicyEngine,
    pub deps: &'a EngineDeps,
    pub events: &'a Events,
    pub settings: &'a ContextSettings,
}

impl Listener<'_> {
    /// Drives `work` to its end; `false` on shutdown. Operations that must wait go to `deferred`, in order.
    pub async fn drive(
        &self,
        work: impl Future,
        ops: &mut Ops,
        deferred: &mut VecDeque<Op>,
        control: &TurnControl,
    ) -> bool {
        tokio::pin!(work);
        let mut running = true;
        loop {
            let op = tokio::select! {
                biased;
                op = ops.recv(), if running => op,
                _ = &mut work => return running,
            };
            match op {
                None | Some(Op::Shutdown) => {
                    control.cancel.cancel();
                    running = false;
                }
                // Text typed after `/clear` is meant for the new session.
                Some(op @ (Op::Submit { .. } | Op::RunCommand { .. }))
                    if deferred.iter().any(changes_session) =>
                {
                    deferred.push_back(op)
                }
                Some(Op::Submit { text }) => control.steer(text),
                Some(Op::RunCommand { command }) => control.command(command),
                Some(Op::TakeBack) => {
                    let mut texts = control.take_typed();
                    deferred.retain(|op| match op {
                        Op::Submit { text } => {
                            texts.push(text.clone());
                            false
                        }
                        Op::RunCommand { command } => {
                            texts.push(format!("!{command}"));
                            false
                        }
                        _ => true,
                    });
                    let _ = self.events.send(Event::TakenBack { texts });
                }
                Some(Op::Interrupt) => control.cancel.cancel(),
                Some(Op::Answer { id, answer }) => control.questions.answer(id, answer),
                Some(Op::EditContext { edit, id }) => control.edit(edit, id),
                Some(Op::ShowContext) => {
                    inspect::ledger(self.deps.originals.path(), self.settings.clone(), self.events.clone());
                }
                Some(
                    later @ (Op::Compact { .. }
                    | Op::Uncompact
                    | Op::AutoCompact { .. }
                    | Op::SetModel { .. }
                    | Op::Clear
                    | Op::Resume { .. }
                    | Op::ForkSession { .. }
                    | Op::ListPoints
                    | Op::PreviewRewind { .. }
                    | Op::Rewind { .. }
                    | Op::RevertHunk { .. }
                    | Op::StageHunk { .. }
                    | Op::Init
                    | Op::Prompt { .. }
                    | Op::Maintain(_)),
                ) => deferred.push_back(later),
                Some(quick) => quick_op(quick, self.policy, self.deps, self.events),
            }
        }
    }
}

/// Whether text typed after this operation belongs to another conversation.
fn changes_session(op: &Op) -> bool {
    matches!(op, Op::Clear | Op::Resume { .. } | Op::ForkSession { .. } | Op::Rewind { .. })
}
