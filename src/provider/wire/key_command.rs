//! `api_key_command`: the user's own command prints the token. It's run when a token is first needed, and once more
//! when the server refuses it.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::RwLock;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use base::model::provider::ProviderError;
use base::secret::{self, Secret};
use base::text;

/// A cloud's tool may ask its server, a password manager its user.
const PATIENCE: Duration = Duration::from_secs(60);
const MAX_BYTES: u64 = 64 * 1024;

static TOKENS: LazyLock<RwLock<HashMap<String, Secret>>> = LazyLock::new(RwLock::default);
/// One at a time: it may ask the user something.
static RUNNING: Mutex<()> = Mutex::const_new(());

/// The token of an earlier run.
pub fn known(command: &str) -> Option<Secret> {
    TOKENS.read().get(command).cloned()
}

/// The token; `refused` is one that the server doesn't take.
pub async fn token(command: &str, refused: Option<&Secret>) -> Result<Secret, ProviderError> {
    let usable = || known(command).filter(|token| Some(token) != refused);
    let _running = match usable() {
        Some(token) => return Ok(token),
        None => RUNNING.lock().await,
    };
    if let Some(token) = usable() {
        return Ok(token);
    }
    let ran = timeout(PATIENCE, run(command)).await;
    let late = || Err(format!("did not end within {} s", PATIENCE.as_secs()));
    let token = ran.unwrap_or_else(|_| late()).map_err(|why| {
        let shown = text::one_line(command, 100);
        ProviderError::Setup(format!("api_key_command `{shown}` {why}"))
    })?;
    secret::add_token(token.expose());
    TOKENS.write().insert(command.to_owned(), token.clone());
    Ok(token)
}

/// Ends everything that the command started.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// The error is the end of a sentence.
async fn run(line: &str) -> Result<Secret, String> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in secret::own_variables() {
        command.env_remove(name);
    }
    let mut child = command.process_group(0).spawn().map_err(|error| format!("can't be started: {error}"))?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let (out, err) = tokio::join!(read(child.stdout.take()), read(child.stderr.take()));
    let status = child.wait().await.map_err(|error| error.to_string())?;
    group.0 = None;
    let said = match text::one_line(&err, 300) {
        said if said.is_empty() => String::new(),
        said => format!(": {said}"),
    };
    if !status.success() {
        return Err(format!("failed ({status}){said}"));
    }
    match out.trim() {
        "" => Err(format!("printed no token{said}")),
        token if token.contains(char::is_whitespace) => {
            Err("printed more than one word; it must print the token only".to_owned())
        }
        token => Ok(Secret::new(token)),
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_BYTES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
