//! `mycode import`: continues a session that was started in another agent.

use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::Path;

use clap::Args;

use crate::cli::args::SharedArgs;
use crate::cli::commands::work::chat;
use crate::cli::report::{self, Failure};
use crate::cli::setup::open::{self, SessionSelector};
use base::config::paths::Paths;
use base::path::on_one_line;
use base::{clock, text};
use records::import::peers::found::PeerSession;
use records::import::peers::list::{self, Peer};
use records::import::transcript::Step;
use records::import::write;

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The agent that the session was started in: claude, codex, gemini or opencode
    pub agent: String,

    /// The session's id (or a prefix of it) or its file; without one, choose from a list of this folder's
    pub session: Option<String>,

    /// Import the last session of this folder
    #[arg(long, conflicts_with = "session")]
    pub last: bool,

    /// Don't open the chat: print the id of the new session
    #[arg(long)]
    pub no_open: bool,
}

const LISTED: usize = 20;

pub async fn run(cli: &SharedArgs, args: &ImportArgs) -> Result<u8, Failure> {
    let peer = peer(&args.agent)?;
    let workspace = open::workspace(cli.model.folder.as_deref())?;
    let asks = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let found = match &args.session {
        Some(file) if Path::new(file).is_file() => {
            let (id, path, title) = (file.clone(), file.into(), String::new());
            Some(PeerSession { id, path, title, updated_ms: 0, side: false })
        }
        _ => choose(peer, &workspace, args, asks)?,
    };
    let Some(found) = found else { return Ok(0) };
    let told = (peer.read)(&found.path).map_err(|error| unreadable(&found.path, &error))?;
    let items = told.steps.iter().filter(|step| !matches!(step, Step::Compacted { .. })).count();
    if items == 0 {
        return Err(Failure::usage(
            format!("no {} session found in {}", peer.title, found.path.display()),
            format!("`mycode import {}` lists this folder's sessions", peer.name),
        ));
    }
    let project_state = Paths::from_env().project(&workspace);
    let log = write::write(&told, peer.name, &project_state, &workspace)?;
    let id = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let turns = told.steps.iter().filter(|step| matches!(step, Step::User { .. })).count();
    let (messages, title) = (text::plural(turns, "message"), on_one_line(&told.title()));
    let mut about = format!("Imported {messages} from {}: {title}", peer.title);
    if told.unknown > 0 {
        let lines = text::plural(told.unknown, "line");
        about.push_str(&format!("\n{lines} could not be read and were left out."));
    }
    if let Some(folder) = told.folder.as_ref().filter(|folder| **folder != workspace) {
        let folder = on_one_line(&folder.to_string_lossy());
        about.push_str(&format!("\nIt worked in {folder}, not in this folder."));
    }
    eprintln!("{}", base::sanitize::clean(&about));
    if args.no_open || !asks {
        report::print(&format!("{id}\n"))?;
        return Ok(0);
    }
    chat::chat(cli, None, SessionSelector::Id(id), None).await
}

pub fn peer(name: &str) -> Result<&'static Peer, Failure> {
    list::peer(name).ok_or_else(|| {
        let hint = format!("name one of: {}", list::names().join(", "));
        Failure::usage(format!("can't import from '{name}'"), hint)
    })
}

pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let hint = "check that the file is there and yours; for opencode, that `opencode`, `sqlite3` or `python3` is in your PATH";
    Failure::task(format!("the session {} can't be read: {error}", path.display()), hint)
}

fn choose(peer: &Peer, here: &Path, args: &ImportArgs, asks: bool) -> Result<Option<PeerSession>, Failure> {
    let wanted = args.session.as_deref();
    // A named session may have been started elsewhere.
    let folder = if wanted.is_some() { None } else { Some(here) };
    let mut found = (peer.find)(folder)?;
    found.retain(|found| !found.side);
    found.sort_by_key(|found| std::cmp::Reverse(found.updated_ms));
    if let Some(wanted) = wanted {
        found.retain(|found| found.id.starts_with(wanted));
        let (title, name) = (peer.title, peer.name);
        let hint =
            format!("`mycode import {name}` lists this folder's sessions; a path to a file works as well");
        return match found.len() {
            1 => Ok(found.pop()),
            0 => Err(Failure::usage(format!("{title} has no session {wanted}"), hint)),
            several => {
                let why = format!("{title} has {several} sessions that begin with {wanted}");
                Err(Failure::usage(why, "type more of the ID"))
            }
        };
    }
    if found.is_empty() {
        let hint = "run this in the folder where it worked, or name a session file";
        return Err(Failure::usage(format!("{} has no sessions in {}", peer.title, here.display()), hint));
    }
    if args.last {
        return Ok(Some(found.swap_remove(0)));
    }
    found.truncate(LISTED);
    for (at, row) in found.iter().enumerate() {
        let (when, id, title) =
            (clock::local_minute(row.updated_ms), on_one_line(&row.id), on_one_line(&row.title));
        report::say(&format!("{:>3}  {id}  {when}  {title}\n", at + 1))?;
    }
    if !asks {
        eprintln!("Import one with: mycode import {} <id>, or --last", peer.name);
        return Ok(None);
    }
    eprint!("Which one? [1-{}, Enter for none] ", found.len());
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    let number = answer.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    Ok(number.filter(|at| *at < found.len()).map(|at| found.swap_remove(at)))
}
