//! Keys that are made on demand: the user's own command prints one (`api_key_command`), or an account is signed in.
//! If the server refuses a key, another one is requested.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::chatgpt;
use base::config::provider::vendors::VENDORS;
use base::config::settings::KeySource;
use base::model::provider::ProviderError;
use base::process::run::KillOnDrop;
use base::secret::{self, Secret};
use base::system::os;
use base::text;

/// A cloud's tool may ask its server, and a password manager may ask the user.
const PATIENCE: Duration = Duration::from_secs(60);
const MAX_BYTES: u64 = 64 * 1024;

static TOKENS: LazyLock<RwLock<HashMap<KeySource, Secret>>> = LazyLock::new(RwLock::default);
/// One at a time, because it may ask the user something.
static RUNNING: Mutex<()> = Mutex::const_new(());

pub fn known(source: &KeySource) -> Option<Secret> {
    TOKENS.read().get(source).cloned()
}

/// The token; `refused` is one that the server rejected.
pub async fn token(source: &KeySource, refused: Option<&Secret>) -> Result<Secret, ProviderError> {
    let usable = || known(source).filter(|token| Some(token) != refused);
    let _running = match usable() {
        Some(token) => return Ok(token),
        None => RUNNING.lock().await,
    };
    if let Some(token) = usable() {
        return Ok(token);
    }
    let late = || Err(format!("did not end within {} s", PATIENCE.as_secs()));
    let token = match source {
        KeySource::Command(command) => timeout(PATIENCE, run(command))
            .await
            .unwrap_or_else(|_| late())
            .map_err(|why| format!("api_key_command `{}` {why}", text::one_line(command, 100))),
        KeySource::Account(file) => {
            let vendor = VENDORS.iter().find(|vendor| !vendor.account.is_empty()).unwrap_or(&VENDORS[0]);
            timeout(PATIENCE, chatgpt::token(file, vendor, refused))
                .await
                .unwrap_or_else(|_| late())
                .map_err(|why| format!("ChatGPT: {why}"))
        }
    };
    let token = token.map_err(ProviderError::Setup)?;
    secret::add_token(token.expose());
    TOKENS.write().insert(source.clone(), token.clone());
    Ok(token)
}

/// The error completes a sentence.
async fn run(line: &str) -> Result<Secret, String> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in secret::own_variables() {
        command.env_remove(name);
    }
    os::in_own_group(command.as_std_mut());
    let mut child = command.spawn().map_err(|error| format!("can't be started: {error}"))?;
    let mut group = KillOnDrop(child.id().map(u32::cast_signed));
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
