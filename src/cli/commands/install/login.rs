//! `mycode login` and `mycode logout`: the saved API keys.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use crate::cli::commands::mcp::open::show_page;
use crate::cli::report::{self, Failure};
use base::config::paths::Paths;
use base::config::provider::saved_keys::SavedKeys;
use base::config::provider::vendors::Vendor;
use base::process::task;
use base::protocol::exit_code::ExitCode;
use base::protocol::notice;
use base::secret::Secret;
use base::system::os::WithoutEcho;
use provider::login::{KeyRequest, change};
use provider::wire::chatgpt::{self, AccountSignIn};
use tokio::net::TcpListener;
use tools::mcp::client::sign_in;

const MOST_BYTES: u64 = 16 * 1024;

pub async fn login(vendor: Option<&str>, browser: bool) -> Result<(), Failure> {
    let Some(vendor) = vendor.filter(|vendor| *vendor != "status") else { return list() };
    let known = Vendor::called(vendor).map_err(failed)?;
    if !known.account.is_empty() {
        return tokio::select! {
            who = account(known) => report::say(&format!("Signed in as {}. {}.\n", who.map_err(not_signed_in)?, notice::CHATGPT_PLAN)),
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
        };
    }
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
    let (listener, port) = listener().await?;
    show_page(&request.page(&format!("http://localhost:{port}/callback"))?);
    request.key(&redirect(&listener, ("/callback", None)).await?).await
}

/// Signs in with a vendor's account; returns whose it is.
async fn account(vendor: &Vendor) -> Result<String, String> {
    let (listener, port) = listener().await?;
    let request = AccountSignIn::begin(&Paths::from_env().config, vendor, port).await?;
    show_page(&request.page()?);
    let answer = redirect(&listener, (chatgpt::PATH, Some(&request.state))).await?;
    request.finish(&answer).await.map_err(|why| format!("The sign-in failed: {why}."))
}

async fn listener() -> Result<(TcpListener, u16), String> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).await;
    let bound = bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    bound.map(|(port, listener)| (listener, port)).map_err(|error| format!("No port is free: {error}."))
}

async fn redirect(listener: &TcpListener, wanted: (&str, Option<&str>)) -> Result<String, String> {
    let answer = tokio::time::timeout(sign_in::PATIENCE, sign_in::answered(listener, wanted)).await;
    answer.map_err(|_| "No one signed in within 5 minutes.".to_owned())?
}

fn failed(why: String) -> Failure {
    Failure::config(why.trim_end_matches('.'), "`mycode login` lists the vendors")
}

fn not_signed_in(why: String) -> Failure {
    let hint = "check the network and try again, or use an API key: `mycode login openai`";
    Failure::config(why.trim_end_matches('.'), hint)
}

fn interrupted() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted", "no key was saved")
}

pub async fn change_key(vendor: &str, key: Option<Secret>) -> Result<(), Failure> {
    let done = change(&Paths::from_env().config, vendor, key).await;
    report::say(&format!("{}\n", done.map_err(failed)?))
}

fn list() -> Result<(), Failure> {
    let rows = SavedKeys::read(&Paths::from_env().config)?.rows();
    let rows: String = rows.iter().map(|key| format!("  {:<12} {}\n", key.vendor, key.shown())).collect();
    report::say(&format!("{rows}\n`mycode login VENDOR` saves a key. {}\n", notice::NO_SUBSCRIPTIONS))
}

async fn read_key() -> Result<Secret, Failure> {
    let silent = WithoutEcho::begin();
    let read = task::blocking(|| {
        let mut line = Vec::new();
        io::stdin().lock().take(MOST_BYTES).read_until(b'\n', &mut line).map(|_| line)
    });
    let line = tokio::select! {
        line = read => line.map_err(io::Error::other).flatten(),
        _ = tokio::signal::ctrl_c() => Err(io::Error::from(io::ErrorKind::Interrupted)),
    };
    drop(silent);
    match line {
        Ok(line) => Ok(Secret::new(&String::from_utf8_lossy(&line))),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(interrupted()),
        Err(error) => Err(error.into()),
    }
}
