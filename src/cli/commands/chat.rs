//! The chat in the terminal: joins agent and screen.

use crate::agent::build;
use crate::cli::args::{Cli, ResumeArgs};
use crate::cli::report::{Failure, FailureKind};
use crate::cli::setup::ask_trust;
use crate::cli::setup::open::{self, Which};
use crate::config::paths::Paths;
use crate::protocol::op::Op;
use crate::tui::run::{self as tui, ScreenChoices, TuiOutcome};
use crate::tui::terminal::keymap;
use crate::tui::terminal::setup;

/// Without an id the screen opens with the list to choose from.
///
/// # Errors
/// See [`chat`].
pub async fn resume(cli: &Cli, args: &ResumeArgs) -> Result<u8, Failure> {
    let last = args.last || cli.continue_last;
    let (which, prompt) = match &args.id {
        Some(text) if last => (Which::Last, Some(text.clone())),
        Some(id) => (Which::Id(id.clone()), args.prompt.clone()),
        None if last => (Which::Last, None),
        None => (Which::New, None),
    };
    let first = matches!(which, Which::New).then_some(Op::ListSessions);
    chat(cli, prompt, which, first).await
}

/// The chat, in a new session or the one named.
///
/// # Errors
/// No terminal, or what keeps the agent from starting.
pub async fn chat(cli: &Cli, prompt: Option<String>, which: Which, first: Option<Op>) -> Result<u8, Failure> {
    setup::usable().map_err(|message| {
        Failure::usage(
            message,
            "use `mycode exec \"task\"` in scripts and pipes (`-` reads the task from standard input)",
        )
    })?;
    if !cli.model.trust {
        ask_trust::ask(&open::workspace(cli.model.folder.as_deref())?)?;
    }
    let mut setup = open::setup(cli, true, &which).await?;
    let config = Paths::from_env().user_config();
    let problems = keymap::configure(&setup.loaded.screen.keys);
    let named = problems.iter().map(|problem| format!("{}, {problem}", config.display()));
    setup.loaded.notices.extend(named);
    let choices = ScreenChoices { theme: setup.loaded.screen.theme, config };
    let handle = build::start(setup)?;
    if let Some(op) = first {
        let _ = handle.ops.send(op);
    }
    let outcome = tui::run(handle.ops, handle.events, prompt, choices).await?;
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), handle.task).await;
    Ok(match outcome {
        TuiOutcome::Quit => 0,
        TuiOutcome::AgentGone => FailureKind::Task as u8,
        TuiOutcome::Signal(_) => FailureKind::Interrupted as u8,
    })
}
