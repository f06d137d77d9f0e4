//! Asks the user whether a call may run, and tells the model if it may not.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::policy_engine::{AssessedToolCall, PolicyEngine};
use crate::control::TurnControl;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode};
use base::protocol::approval::{self, Answer, ApprovalRequest, Question};
use base::protocol::event::Level;
use base::protocol::notice as texts;
use guard::policy::session_grant::SessionGrant;
use guard::redact::detector::TextSource;
use tools::api::{Prepared, Preview, ToolError};
use tools::cx::ToolCx;

pub struct Approver<'a> {
    pub policy: &'a PolicyEngine,
    /// Context for the preview; cancelled when the turn is interrupted.
    pub cx: ToolCx,
    pub interactive: bool,
    pub denied: &'a AtomicU32,
    pub control: &'a TurnControl,
}

impl Approver<'_> {
    /// `Ok` has new arguments if the user changed them; `Err` is the envelope for the model if the call must not run.
    pub async fn ask(
        &self,
        call: &ToolCall,
        prepared: &dyn Prepared,
        assessed: &AssessedToolCall,
        reason: String,
    ) -> Result<Option<Value>, Box<Envelope>> {
        let Self { policy, cx, control, .. } = self;
        if !self.interactive {
            self.denied.fetch_add(1, Ordering::Relaxed);
            let allow = match policy.always_grant(assessed) {
                Some(SessionGrant::Host(host)) => {
                    format!(" The user can allow it with --allow 'WebFetch({host})'.")
                }
                _ => policy.folder_to_add(assessed).map_or_else(String::new, |folder| {
                    format!(" The user can allow it with --add-dir {}.", folder.display())
                }),
            };
            return Err(denied(&format!(
                "{reason}, and no user is available (headless).{allow} Find a way that needs no approval, or say what \
                 you could not do"
            )));
        }
        let (detail, is_diff) = match prepared.preview(cx).await {
            _ if control.cancel.is_cancelled() => return Err(never_run()),
            Preview::Text(text) => (text, false),
            Preview::Diff(diff) => (diff, true),
            // Don't ask about a call without effect, unless its answer would reveal what may not be read.
            Preview::NoEffect(answer) if policy.may_read(assessed) => {
                return Err(answer.map_or_else(|error| envelope_of(&error), Box::new));
            }
            Preview::NoEffect(answer) => {
                (answer.map_or_else(|error| error.to_string(), |envelope| envelope.text), false)
            }
        };
        let clean = |text: &str| cx.redactor.redact(text, TextSource::of_command(text)).into_owned();
        let always = policy.always_grant(assessed);
        let question = Question::Approval(ApprovalRequest {
            call_id: call.id.to_string(),
            tool: call.name.to_string(),
            args: cx.redactor.redact_args(&call.args).into_owned(),
            title: clean(&prepared.title()),
            detail: clean(&detail),
            is_diff,
            reason,
            always_prefix: always.as_ref().and_then(SessionGrant::words).map(str::to_owned),
            session_scope: policy.session_scope(assessed),
            parts: assessed.parts().iter().map(|part| clean(part)).collect(),
            agent: control.agent.clone(),
        });
        match control.questions.ask(question, &control.cancel).await {
            Some(Answer::Once) => Ok(None),
            Some(Answer::Changed { args }) => Ok(Some(args)),
            Some(Answer::Session) => {
                policy.allow_for_session(assessed);
                Ok(None)
            }
            Some(Answer::Always) => {
                if let Some(grant) = always
                    && let Err(error) = policy.rules().always(grant)
                {
                    control.notice(Level::Warning, texts::rule_not_saved(error));
                }
                Ok(None)
            }
            Some(Answer::No { note }) => {
                self.denied.fetch_add(1, Ordering::Relaxed);
                let note = note.trim();
                let answer = denied(&match note {
                    "" => "the user denied this call. Don't work around it: ask, or continue without it"
                        .to_owned(),
                    note => format!("the user denied this call: {note}"),
                });
                Err(Box::new(answer.with("user_text", approval::denied(note))))
            }
            Some(Answer::Replies { .. } | Answer::Accept { .. }) | None => Err(never_run()),
        }
    }
}

pub fn denied(message: &str) -> Box<Envelope> {
    let message = message.trim_end_matches('.');
    Box::new(Envelope::error(ErrorCode::PermissionDenied, format!("{message}. Nothing was run.")))
}

/// Interrupted before it ran, so the model needn't look for partial changes.
pub fn never_run() -> Box<Envelope> {
    Box::new(Envelope::error(
        ErrorCode::Interrupted,
        "the user interrupted before this call ran; it changed nothing",
    ))
}

pub fn envelope_of(error: &ToolError) -> Box<Envelope> {
    Box::new(Envelope::error(error.code, error.message.clone()))
}
