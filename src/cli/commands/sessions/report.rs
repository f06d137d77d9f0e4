//! `mycode report`: what one session, or all since a day, did and cost. Reads only logs, so it also works
//! while a session is open elsewhere.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::each::sessions;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::runs::page;
use crate::cli::setup::open;
use base::clock;
use base::config::settings::Permission;
use base::folder::atomic_write::{self, Expect};
use context::report::gather::Report;
use context::report::{period, render};
use records::export::html;

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The session's id (or a prefix of it) or log file [default: the last session]
    pub session: Option<String>,

    /// Report everything done in this project since then: 7d, 24h, 2w or 2026-11-01
    #[arg(long, value_name = "WHEN", conflicts_with = "session")]
    pub since: Option<String>,

    /// Report the last exec, batch or build here on one page: asked, done, checked, failed, cost, and what needs you
    #[arg(long, conflicts_with_all = ["session", "since"])]
    pub last_run: bool,

    /// Print one JSON object with all figures
    #[arg(long)]
    pub json: bool,

    /// Write it to FILE as a web page
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

pub async fn run(cli: &SharedArgs, args: &ReportArgs) -> Result<(), Failure> {
    // The configuration includes the user's own prices.
    let opened = open::open(&cli.model, Permission::ReadOnly)?;
    if args.last_run {
        let page = page::last(&opened.project_state).await?;
        return match args.json {
            true => report::print(&format!("{}\n", serde_json::json!(page))),
            false => show(args, &page.title(), &page.markdown()),
        };
    }
    let (found, heading) = match &args.since {
        Some(text) => {
            let since = period::since(text)
                .map_err(|wrong| Failure::usage(wrong, "give one such as 7d, 24h, 2w or 2026-11-01"))?;
            let mut states = vec![opened.project_state.clone()];
            states.extend(sessions::states(&opened.workspace));
            let name = opened.workspace.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (Report::since(&states, since), format!("{name} since {}", clock::local_minute(since)))
        }
        None => {
            let log = open::log_of(cli.model.folder.as_deref(), args.session.as_deref())?;
            let found = Report::of_log(&log)?;
            let title =
                found.sessions.first().map(|session| format!("Session {}: {}", session.id, session.title));
            (found, title.unwrap_or_default())
        }
    };
    if args.json {
        return report::print(&format!("{}\n", serde_json::json!(found)));
    }
    if found.sessions.is_empty() && found.unreadable == 0 {
        return report::say("No activity in this period. `mycode sessions` lists all sessions.\n");
    }
    show(args, &heading, &render::markdown(&found, &heading))
}

fn show(args: &ReportArgs, title: &str, text: &str) -> Result<(), Failure> {
    let Some(file) = &args.html else { return report::say(text) };
    let page = html::of_markdown(title, text);
    let written = atomic_write::write(file, page.as_bytes(), Expect::Anything);
    written.or_task(format!("{} can't be written", file.display()), "name a file in a folder that exists")?;
    report::say(&format!("Wrote {}\n", file.display()))
}
