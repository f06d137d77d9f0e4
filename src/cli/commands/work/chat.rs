//! The chat in the terminal: connects agent and screen.

use std::io::IsTerminal as _;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open::SessionSelector;
use crate::cli::setup::{agent_setup, ask, questions};
use agent::assemble;
use base::config::paths::Paths;
use base::protocol::exit_code::ExitCode;
use base::protocol::op::{Op, Quick};
use context::session::log;
use frontend::tui::plain;
use frontend::tui::run::{self as tui, TuiOutcome};
use frontend::tui::terminal::{keymap, setup};

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The session's id, or a prefix of it; without one, choose from a list
    pub id: Option<String>,

    /// Continue the last session; the argument is then the prompt
    #[arg(long)]
    pub last: bool,

    /// The next message
    pub prompt: Option<String>,
}

/// Without an id, the screen opens with a list to choose from.
pub async fn resume(cli: &SharedArgs, args: &ResumeArgs) -> Result<u8, Failure> {
    let last = args.last || cli.continue_last;
    let (which, prompt) = match &args.id {
        Some(text) if last => (SessionSelector::Last, Some(text.clone())),
        Some(id) => (SessionSelector::Id(id.clone()), args.prompt.clone()),
        None if last => (SessionSelector::Last, None),
        None => (SessionSelector::New, None),
    };
    let first = matches!(which, SessionSelector::New).then_some(Op::Quick(Quick::ListSessions));
    chat(cli, prompt, which, first).await
}

pub async fn chat(
    cli: &SharedArgs,
    prompt: Option<String>,
    which: SessionSelector,
    first: Option<Op>,
) -> Result<u8, Failure> {
    let plain = is_plain(cli);
    if !plain {
        setup::usable().map_err(|message| {
            Failure::usage(
                message,
                "use `mycode exec \"task\"` in scripts and pipes (`-` reads the task from standard input), or --plain",
            )
        })?;
    }
    // Don't take a script's lines for answers.
    let asks = std::io::stdin().is_terminal();
    if asks {
        questions::before_start(&cli.model)?;
    }
    let (mut cli, mut listed) = (cli.clone(), None);
    let mut setup = match agent_setup::setup(&cli, true, &which).await {
        Err(error) if matches!(which, SessionSelector::New) => {
            listed = questions::listed_model(&cli.model).await?;
            cli.model.model = Some(listed.clone().ok_or(error)?);
            agent_setup::setup(&cli, true, &which).await?
        }
        done => done?,
    };
    if let Some(model) = &listed {
        let text =
            format!("No model is set, so this chat uses {model}, the first that the server lists (/model).");
        setup.loaded.notices.push(text);
    }
    if asks && let Some(log) = setup.resume.take() {
        let Some(log) = ask::ask_busy(&setup.project_state, &setup.workspace, log)? else { return Ok(0) };
        setup.resume = Some(log);
    }
    if asks {
        questions::welcome(&cli.model, &setup.loaded)?;
    }
    let config = Paths::from_env().user_config();
    let problems = keymap::configure(&setup.loaded.screen.keys);
    let named = problems.iter().map(|problem| format!("{}, {problem}", config.display()));
    setup.loaded.notices.extend(named);
    let (project_state, mut screen) = (setup.project_state.clone(), setup.loaded.screen.clone());
    screen.theme = cli.theme.unwrap_or(screen.theme);
    let handle = assemble::start(setup)?;
    if let Some(op) = first {
        let _ = handle.ops.send(op);
    }
    let (outcome, session) = if plain {
        plain::run(handle.ops, handle.events, prompt).await?
    } else {
        tui::run(handle.ops, handle.events, prompt, screen, listed.is_some()).await?
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), handle.task).await;
    if matches!(outcome, TuiOutcome::Killed) {
        let _ = report::say("A signal ended this chat.\n");
    }
    // An empty session has no log to continue.
    if let Some(session) = session.filter(|session| log::path_of(&project_state, &session.id).exists()) {
        let options = cli.model.for_resume();
        let _ = report::say(&format!("Continue with: mycode resume {}{options}\n", session.id));
    }
    Ok(match outcome {
        TuiOutcome::Quit => 0,
        TuiOutcome::AgentGone => ExitCode::Failed as u8,
        TuiOutcome::Killed => ExitCode::Interrupted as u8,
    })
}

/// By option, by `MYCODE_PLAIN=1`, or because the terminal can't do more.
fn is_plain(cli: &SharedArgs) -> bool {
    cli.plain || is_plain_set()
}

pub fn is_plain_set() -> bool {
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|set| set == value);
    is("MYCODE_PLAIN", "1") || is("TERM", "dumb")
}
