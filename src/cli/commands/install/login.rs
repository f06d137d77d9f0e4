//! `mycode login` and `mycode logout`: the saved API keys.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use rustix::termios::{self, LocalModes, OptionalActions};

use crate::cli::commands::mcp::open::show_page;
use crate::cli::report::{self, Failure};
use base::config::paths::Paths;
use base::config::provider::saved_keys::{KeyState, SavedKeys};
use base::process::task;
use base::protocol::exit_code::ExitCode;
use base::protocol::notice;
use base::secret::Secret;
use provider::login::KeyRequest;
use provider::login::change;
use tokio::net::TcpListener;
use tools::mcp::client::sign_in;

const MOST_BYTES: u64 = 16 * 1024;

pub async fn login(vendor: Option<&str>, browser: bool) -> Result<(), Failure> {
    let Some(vendor) = vendor else { return list() };
    if browser {
        let key = tokio::select! {
            key = key_from_page(vendor) => key.map_err(failed)?,
            _ = tokio::signal::ctrl_c() => return Err(interrupted()),
        };
        return change_key(vendor, Some(key)).await;
    }
    if io::stdin().is_terminal() {
        report::print(&format!("API key for {vendor} (it isn't shown): "))?;
    }
    let key = read_key().await?;
    change_key(vendor, Some(key)).await
}

async fn key_from_page(vendor: &str) -> Result<Secret, String> {
    let request = KeyRequest::new(vendor)?;
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| format!("No port is free: {error}."))?;
    let port = listener.local_addr().map_err(|error| format!("No port is free: {error}."))?.port();
    show_page(&request.page(&format!("http://localhost:{port}/callback"))?);
    let redirect = tokio::time::timeout(sign_in::PATIENCE, sign_in::answered(&listener)).await;
    request.key(&redirect.map_err(|_| "No one signed in within 5 minutes.".to_owned())??).await
}

fn failed(why: String) -> Failure {
    Failure::config(why.trim_end_matches('.'), "`mycode login` lists the vendors")
}

fn interrupted() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted", "no key was saved")
}

/// Saves a key, or removes it.
pub async fn change_key(vendor: &str, key: Option<Secret>) -> Result<(), Failure> {
    let done = change(&Paths::from_env().config, vendor, key).await;
    report::say(&format!("{}\n", done.map_err(failed)?))
}

fn list() -> Result<(), Failure> {
    let row = |vendor: &str, state: &KeyState| match state {
        KeyState::Missing => format!("  {vendor:<12} no key\n"),
        KeyState::Saved => format!("  {vendor:<12} key saved\n"),
        KeyState::Exported(name) => format!("  {vendor:<12} {name} is exported\n"),
    };
    let rows = SavedKeys::read(&Paths::from_env().config)?.rows();
    let rows: String = rows.iter().map(|key| row(&key.vendor, &key.state)).collect();
    report::say(&format!("{rows}\n`mycode login VENDOR` saves a key. {}\n", notice::NO_SUBSCRIPTIONS))
}

/// One line of standard input, without an echo.
async fn read_key() -> Result<Secret, Failure> {
    let before = termios::tcgetattr(io::stdin()).ok();
    if let Some(mut silent) = before.clone() {
        silent.local_modes.remove(LocalModes::ECHO);
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
    }
    let read = task::blocking(|| {
        let mut line = Vec::new();
        io::stdin().lock().take(MOST_BYTES).read_until(b'\n', &mut line).map(|_| line)
    });
    let line = tokio::select! {
        line = read => line.map_err(io::Error::other).flatten(),
        _ = tokio::signal::ctrl_c() => Err(io::Error::from(io::ErrorKind::Interrupted)),
    };
    if let Some(before) = before {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
        let _ = writeln!(io::stdout());
    }
    match line {
        Ok(line) => Ok(Secret::new(&String::from_utf8_lossy(&line))),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(interrupted()),
        Err(error) => Err(error.into()),
    }
}
