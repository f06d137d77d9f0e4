//! Handles operations during a turn: some act at once, others wait until it ends.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::control::{Events, TurnControl, answer};
use super::deps::EngineDeps;
use super::parts::Agent;
use super::quick_ops::quick_op;
use super::session::inspect;
use crate::calls::policy_engine::PolicyEngine;
use base::config::settings::ContextSettings;
use base::protocol::event::Event;
use base::protocol::op::{Control, Idle, Op, Undo, Work};

pub type Ops = mpsc::UnboundedReceiver<Op>;

pub struct Listener<'a> {
    policy: Arc<PolicyEngine>,
    deps: &'a EngineDeps,
    events: &'a Events,
    settings: ContextSettings,
}

impl<'a> Listener<'a> {
    pub fn new(agent: &Agent, deps: &'a EngineDeps, events: &'a Events) -> Self {
        let (policy, settings) = (Arc::clone(&agent.dispatcher.policy), agent.window.settings().clone());
        Self { policy, deps, events, settings }
    }

    /// Drives `work` to its end; `false` on shutdown. Operations that must wait are pushed to `deferred`.
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
                None | Some(Op::Control(Control::Shutdown)) => {
                    control.cancel.cancel();
                    running = false;
                }
                Some(Op::Control(op)) => match op {
                    Control::TakeBack => {
                        let mut texts = control.take_typed();
                        deferred.retain(|op| match op {
                            Op::Work(Work::Submit { text }) => {
                                texts.push(text.clone());
                                false
                            }
                            Op::Work(Work::RunCommand { command }) => {
                                texts.push(format!("!{command}"));
                                false
                            }
                            _ => true,
                        });
                        let _ = self.events.send(Event::TakenBack { texts });
                    }
                    Control::Interrupt | Control::Shutdown => control.cancel.cancel(),
                    Control::Answer { id, answer } => control.questions.answer(id, answer),
                    Control::EditContext { edit, id } => control.edit(edit, id),
                    Control::ShowContext => {
                        let (log, settings) = (self.deps.tools.originals.path(), self.settings.clone());
                        answer(self.events, move || inspect::ledger(&log, &settings));
                    }
                },
                // Text typed after `/clear` belongs to the new session.
                Some(op @ Op::Work(_)) if deferred.iter().any(changes_session) => deferred.push_back(op),
                Some(Op::Work(Work::Submit { text })) => control.steer(text),
                Some(Op::Work(Work::RunCommand { command })) => control.command(command),
                Some(later @ (Op::Work(_) | Op::Idle(_) | Op::Undo(_))) => deferred.push_back(later),
                Some(Op::Quick(quick)) => quick_op(quick, &self.policy, self.deps, self.events),
            }
        }
    }
}

/// Whether text typed after this operation belongs to another conversation.
fn changes_session(op: &Op) -> bool {
    match op {
        Op::Idle(op) => matches!(op, Idle::Clear | Idle::Resume { .. } | Idle::ForkSession { .. }),
        Op::Undo(op) => matches!(op, Undo::Rewind { .. }),
        Op::Work(_) | Op::Control(_) | Op::Quick(_) => false,
    }
}
