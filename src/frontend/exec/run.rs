//! Runs one task without a user: submits it, declines every question, prints events, and turns the end into
//! an exit code. Doesn't read standard input.

use std::io::{self, IsTerminal};
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::compat::claude::{Claude, ClaudeForm};
use super::compat::codex::Codex;
use super::human::Human;
use super::json::Json;
use super::output_schema::OutputSchema;
use super::printer::{ModelAnswer, Printer, failed};
use super::turn_answer::TurnAnswer;
use base::process::signals::interrupts;
use base::protocol::approval::{Answer, Question};
use base::protocol::event::{EndReason, Event, FailureCause, TurnEnd};
use base::protocol::exit_code::ExitCode;
use base::protocol::goal::Goal;
use base::protocol::op::{Attachment, Control, Op, Work};

/// Sent to the model when its call would need the user's consent.
const DENIAL: &str = "No user is available (headless). Continue without this call; if the task is impossible without it, \
                      say so. The user can allow it with a higher --permission.";
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The prompt stays in the session, because there's no composer to return it to.
const INTERRUPTED: EndReason = EndReason::Interrupted { prompt_returned: None };

/// `Text`: progress on standard error. `Answer`: only warnings there. `OneStream`: all on standard output (the demo).
#[derive(Clone, Debug)]
pub enum OutputForm {
    Text { color: bool },
    Answer,
    OneStream,
    Json,
    Codex,
    Claude(ClaudeForm),
}

#[derive(Clone, Debug)]
pub enum ExecStart {
    Prompt(String, Vec<Attachment>),
    Goal(Goal),
    NextRound,
}

impl ExecStart {
    pub fn op(self, answer: &mut TurnAnswer) -> Op {
        match self {
            Self::Prompt(text, images) if images.is_empty() => Op::of_prompt(answer.begin(text)),
            Self::Prompt(text, attachments) => Work::Prompt { text: answer.begin(text), attachments }.into(),
            Self::Goal(goal) => Work::Goal(Goal { text: answer.begin(goal.text), ..goal }).into(),
            Self::NextRound => Work::NextRound.into(),
        }
    }
}

impl OutputForm {
    /// Color only if standard error is a terminal that supports it and `NO_COLOR` isn't set.
    pub fn detect(json: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = io::stderr().is_terminal() && !set("NO_COLOR") && !dumb;
        if json { Self::Json } else { Self::Text { color } }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExecOutcome {
    pub exit_code: u8,
    pub end: TurnEnd,
    /// The model's last text, or the JSON value for the schema.
    pub answer: Option<String>,
    /// Why output is incomplete, if it is. A reader that closed the pipe doesn't count.
    pub lost: Option<String>,
}

pub async fn run(
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    start: ExecStart,
    form: OutputForm,
    schema: Option<OutputSchema>,
) -> ExecOutcome {
    let mut printer: Box<dyn Printer> = match form {
        OutputForm::Text { color } => Box::new(Human::new(io::stdout(), io::stderr(), color)),
        OutputForm::Answer => Box::new(Human::quiet(io::stdout(), io::stderr())),
        OutputForm::OneStream => Box::new(Human::new(io::stdout(), io::stdout(), false)),
        OutputForm::Json => Box::new(Json::new(io::stdout())),
        OutputForm::Codex => Box::new(Codex::new(io::stdout())),
        OutputForm::Claude(form) => Box::new(Claude::new(io::stdout(), form)),
    };
    run_with(ops, events, start, &mut *printer, interrupts(), schema).await
}

pub async fn run_with(
    ops: UnboundedSender<Op>,
    mut events: UnboundedReceiver<Event>,
    start: ExecStart,
    printer: &mut (impl Printer + ?Sized),
    interrupts: impl Stream<Item = ()>,
    schema: Option<OutputSchema>,
) -> ExecOutcome {
    let mut interrupts = std::pin::pin!(interrupts.fuse());
    let mut denied = 0;
    let mut interrupted = false;
    let mut lost = None;
    let mut answer = TurnAnswer::new(schema);
    // If this fails the engine is gone, and the event queue ends too.
    let _ = ops.send(start.op(&mut answer));
    let end = loop {
        let event = tokio::select! {
            event = events.recv() => event,
            Some(()) = interrupts.next() => {
                if interrupted {
                    let end = ended(INTERRUPTED, denied);
                    return ExecOutcome { answer: None, ..leave(printer, end, &answer.said, lost) };
                }
                interrupted = true;
                let _ = ops.send(Control::Interrupt.into());
                continue;
            }
        };
        let shown = match event {
            None => break ended(gone(interrupted), denied),
            Some(Event::TurnEnded(end)) => match answer.ended(end, &ops, printer) {
                Ok(end) => break end,
                Err(shown) => shown,
            },
            Some(Event::Ask { id, question }) => {
                denied += 1;
                let answer = Answer::No { note: note(&question).to_owned() };
                let _ = ops.send(Control::Answer { id, answer }.into());
                printer.denied(&question)
            }
            Some(event @ (Event::Ledger(_) | Event::Cost(_))) => {
                lost = answer.shown(&event, printer).err();
                break ended(EndReason::Done, denied);
            }
            Some(event) => {
                answer.event(&event);
                printer.event(&event)
            }
        };
        if let Err(error) = shown
            && !interrupted
        {
            // The reader is gone or the disk is full: further work would be lost too.
            interrupted = true;
            lost = Some(error);
            let _ = ops.send(Control::Interrupt.into());
        }
    };
    let end = TurnEnd { denied: end.denied.max(denied), ..end };
    let outcome = leave(printer, end, &answer.said, lost);
    shut_down(ops, events, printer, interrupts).await;
    outcome
}

/// Waits for the engine's last writes; another interrupt ends the wait.
pub async fn shut_down(
    ops: UnboundedSender<Op>,
    mut events: UnboundedReceiver<Event>,
    printer: &mut (impl Printer + ?Sized),
    mut interrupts: impl Stream<Item = ()> + Unpin,
) {
    let _ = ops.send(Control::Shutdown.into());
    drop(ops);
    let last_writes = async {
        while let Some(event) = events.recv().await {
            printer.after_end(&event);
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, last_writes) => {}
        Some(()) = interrupts.next() => {}
    }
}

fn leave(
    printer: &mut (impl Printer + ?Sized),
    end: TurnEnd,
    answer: &ModelAnswer,
    lost: Option<io::Error>,
) -> ExecOutcome {
    let exit_code = ExitCode::of(&end) as u8;
    let last = printer.end(&end, answer, exit_code).err();
    outcome(exit_code, end, lost.or(last), answer)
}

pub fn outcome(exit_code: u8, end: TurnEnd, lost: Option<io::Error>, answer: &ModelAnswer) -> ExecOutcome {
    // Closing the pipe is deliberate; any other error loses output.
    let lost = lost.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    ExecOutcome {
        exit_code: if lost.is_some() { ExitCode::Failed as u8 } else { exit_code },
        end,
        answer: answer.output.as_ref().map(ToString::to_string).or_else(|| answer.text.clone()),
        lost: lost.map(|error| error.to_string()),
    }
}

pub fn failed_or_not(end: &TurnEnd) -> u8 {
    match end.reason {
        EndReason::Done => 0,
        EndReason::Interrupted { .. } => ExitCode::Interrupted as u8,
        _ => 1,
    }
}

pub fn note(question: &Question) -> &'static str {
    match question {
        Question::Approval(_) => DENIAL,
        Question::Ask { .. } | Question::Plan(_) => {
            "No user is available (headless). Decide yourself and say what you assumed."
        }
    }
}

fn ended(reason: EndReason, denied: u32) -> TurnEnd {
    TurnEnd { reason, denied, ..TurnEnd::default() }
}

/// An engine that ended silently failed, unless it was interrupted.
pub fn gone(interrupted: bool) -> EndReason {
    if interrupted {
        return INTERRUPTED;
    }
    let hint = "finished work is kept; continue with `mycode resume --last`";
    failed("the agent stopped before the task was done", hint, FailureCause::Other)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use base::protocol::approval::AskedQuestion;
    use base::protocol::event::Level;

    fn end(reason: EndReason) -> Event {
        Event::TurnEnded(ended(reason, 0))
    }

    fn task() -> ExecStart {
        ExecStart::Prompt("task".to_owned(), Vec::new())
    }

    /// Returns the exit code and the operations that were sent.
    async fn play(script: Vec<Event>, interrupts: usize) -> (u8, Vec<Op>) {
        let (ops, mut sent) = unbounded_channel();
        let (tell, events) = unbounded_channel();
        for event in script {
            tell.send(event).unwrap_or_default();
        }
        // With interrupts to come, the engine hangs; otherwise it ends.
        let open = (interrupts > 0).then_some(tell);
        let mut printer = Human::new(Vec::new(), Vec::new(), false);
        let outcome =
            run_with(ops, events, task(), &mut printer, stream::iter(vec![(); interrupts]), None).await;
        drop(open);
        let mut operations = Vec::new();
        while let Some(op) = sent.recv().await {
            operations.push(op);
        }
        (outcome.exit_code, operations)
    }

    #[tokio::test]
    async fn exit_codes() {
        let provider = EndReason::ProviderFailed {
            message: "m".to_owned(),
            hint: "h".to_owned(),
            prompt_returned: None,
        };
        let failed = EndReason::Failed {
            message: "m".to_owned(),
            hint: "h".to_owned(),
            cause: FailureCause::Other,
            prompt_returned: None,
        };
        for (reason, expected) in [
            (EndReason::Done, 0),
            (EndReason::StepLimit { limit: 3 }, 5),
            (failed, 1),
            (provider, 4),
            (INTERRUPTED, 130),
        ] {
            let (code, ops) = play(vec![end(reason)], 0).await;
            assert_eq!(code, expected);
            assert_eq!(
                ops,
                [Op::Work(Work::Submit { text: "task".to_owned() }), Op::Control(Control::Shutdown)]
            );
        }
        assert_eq!(play(vec![], 0).await.0, 1);
    }

    #[tokio::test]
    async fn questions_are_denied_and_counted() {
        let question = Question::Ask {
            questions: vec![AskedQuestion { question: "?".into(), options: vec![], optional: false }],
        };
        let (code, ops) = play(vec![Event::Ask { id: 7, question }, end(EndReason::Done)], 0).await;
        assert_eq!(code, 0);
        assert!(
            matches!(&ops[1], Op::Control(Control::Answer { id: 7, answer: Answer::No { note } }) if !note.is_empty())
        );
    }

    #[tokio::test]
    async fn second_interrupt() {
        let (code, ops) = play(vec![], 2).await;
        assert_eq!(code, 130);
        assert_eq!(
            ops,
            [Op::Work(Work::Submit { text: "task".to_owned() }), Op::Control(Control::Interrupt)]
        );
    }

    /// Its reader is gone, or the disk is full.
    struct Closed(io::ErrorKind);

    impl Printer for Closed {
        fn event(&mut self, _: &Event) -> io::Result<()> {
            Err(self.0.into())
        }
        fn denied(&mut self, _: &Question) -> io::Result<()> {
            Err(self.0.into())
        }
        fn end(&mut self, _: &TurnEnd, _: &ModelAnswer, _: u8) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[tokio::test]
    async fn unwritable_answer() {
        for (kind, code) in
            [(io::ErrorKind::StorageFull, ExitCode::Failed as u8), (io::ErrorKind::BrokenPipe, 0)]
        {
            let (ops, _sent) = unbounded_channel();
            let (tell, events) = unbounded_channel();
            tell.send(end(EndReason::Done)).unwrap_or_default();
            drop(tell);
            let outcome = run_with(ops, events, task(), &mut Closed(kind), stream::pending(), None).await;
            assert_eq!((outcome.exit_code, outcome.lost.is_some()), (code, code == ExitCode::Failed as u8));
        }
    }

    #[tokio::test]
    async fn a_closed_output_interrupts_once() {
        let (ops, mut sent) = unbounded_channel();
        let (tell, events) = unbounded_channel();
        let notice = || Event::Notice { level: Level::Info, text: "x".to_owned() };
        for event in [notice(), notice(), end(INTERRUPTED)] {
            tell.send(event).unwrap_or_default();
        }
        drop(tell);
        let mut closed = Closed(io::ErrorKind::BrokenPipe);
        let outcome = run_with(ops, events, task(), &mut closed, stream::pending(), None).await;
        assert_eq!(outcome.exit_code, 130);
        let mut count = 0;
        while let Some(op) = sent.recv().await {
            count += usize::from(op == Op::Control(Control::Interrupt));
        }
        assert_eq!(count, 1);
    }
}
