//! Opens connections: expands variables, starts the program or contacts the address, and does the handshake.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::http::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::ClientInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthorizationManager;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, IntoTransport, StreamableHttpClientTransport};
use rmcp::{ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use tokio::time::timeout;

use super::bounded::{BoundedOutput, MAX_MESSAGE_BYTES};
use super::connection::McpConnection;
use super::credentials::{self, CredentialFile};
use super::error::{McpError, root_cause};
use super::handler::{Calls, Handler};
use super::host::HostTransport;
use super::http;
use super::ordered_http::OrderedHttp;
use super::sign_in::{ShowPage, SignIn};
use super::stdio::{self, McpProgram};
use crate::mcp::config::server::{self, OAuth, Server, Transport};
use base::process::run::Exit;
use base::process::service::Service;
use base::process::task;
use base::protocol::host::HostProgram;
use guard::sandbox::session::Sandbox;

/// How long to wait for an address to say whether it knows the newest protocol; some older servers never do.
const PROBE: Duration = Duration::from_secs(10);
/// How long to wait for a failed program to exit, to get its last output.
const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct ServerPlace {
    pub root: PathBuf,
    pub sandbox: Arc<Sandbox>,
    /// Folder for servers in the user's state.
    pub state: PathBuf,
    pub host: Option<Arc<dyn HostProgram>>,
    /// `None` if no user can sign in.
    pub show: Option<ShowPage>,
}

impl ServerPlace {
    pub fn folder_of(&self, server: &Server) -> PathBuf {
        self.state.join(credentials::folder_name(&server.name, &server.origin))
    }

    pub fn credentials_of(&self, server: &Server) -> CredentialFile {
        CredentialFile(self.folder_of(server).join("credentials.json"))
    }
}

/// If `challenge` (from a refused request) is given, signs in first.
pub async fn connect(
    server: &Server,
    place: &ServerPlace,
    challenge: Option<&str>,
) -> Result<McpConnection, McpError> {
    match &server.transport {
        Transport::Stdio { .. } => over_stdio(server, place).await,
        Transport::Host => over_host(server, place).await,
        Transport::Http { url, headers, oauth } => {
            let headers =
                headers.iter().map(|(name, value)| Ok((name.clone(), expand(value, server, place)?)));
            let headers = headers.collect::<Result<Vec<_>, McpError>>()?;
            let signed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            let url = expand(url, server, place)?;
            match oauth.as_ref().filter(|_| !signed) {
                None => over_http(server, place, &url, &headers, None).await.map_err(|error| match error {
                    McpError::SignIn { challenge, .. } if signed => {
                        let why = if challenge.is_empty() { challenge } else { format!(": {challenge}") };
                        McpError::Start(format!(
                            "it refuses the token of the Authorization header (HTTP 401{why})"
                        ))
                    }
                    error => error,
                }),
                Some(oauth) => signed_in(server, place, &url, &headers, oauth, challenge).await,
            }
        }
    }
}

async fn signed_in(
    server: &Server,
    place: &ServerPlace,
    url: &str,
    headers: &[(String, String)],
    oauth: &OAuth,
    challenge: Option<&str>,
) -> Result<McpConnection, McpError> {
    let mut oauth = oauth.clone();
    let texts = [&mut oauth.client_id, &mut oauth.client_secret, &mut oauth.private_key_file];
    for text in texts.into_iter().flatten() {
        *text = expand(text, server, place)?;
    }
    let file = Some(place.credentials_of(server));
    let sign_in = SignIn { url: url.to_owned(), oauth, file, show: place.show.clone() };
    let challenge = match challenge {
        Some(challenge) => challenge.to_owned(),
        None => {
            let earlier = sign_in.earlier().await.map_err(McpError::Start)?;
            match over_http(server, place, url, headers, Some(earlier)).await {
                Err(McpError::SignIn { challenge, failed: None }) => challenge,
                answer => return answer,
            }
        }
    };
    if sign_in.show.is_none() && !sign_in.without_user() {
        return Err(McpError::SignIn { challenge, failed: None });
    }
    let failed = |what: String| McpError::SignIn { challenge: String::new(), failed: Some(what) };
    let manager = sign_in.now(Some(&challenge)).await.map_err(failed)?;
    over_http(server, place, url, headers, Some(manager)).await
}

async fn over_http(
    server: &Server,
    place: &ServerPlace,
    url: &str,
    headers: &[(String, String)],
    tokens: Option<AuthorizationManager>,
) -> Result<McpConnection, McpError> {
    let client = AuthClient::new(
        http::client(url).map_err(McpError::Start)?,
        match tokens {
            Some(tokens) => tokens,
            // Without tokens, it adds nothing to requests.
            None => SignIn { url: url.to_owned(), oauth: OAuth::default(), file: None, show: None }
                .earlier()
                .await
                .map_err(McpError::Start)?,
        },
    );
    let mut named = std::collections::HashMap::new();
    for (name, value) in headers {
        let header = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) =
            header.ok_or_else(|| McpError::Start(format!("the header {name} is not valid")))?;
        named.insert(name, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(named);
    let open = |_| {
        // Each connection needs its own, because it tracks the stream of that connection.
        let client = OrderedHttp::new(client.clone());
        ready(Ok((StreamableHttpClientTransport::with_client(client, config.clone()), None)))
    };
    handshake(server, place, open).await
}

async fn over_stdio(server: &Server, place: &ServerPlace) -> Result<McpConnection, McpError> {
    let open = |calls: Arc<Calls>| async move {
        let (program, sandbox) = (program(server, place)?, Arc::clone(&place.sandbox));
        let started = task::blocking(move || stdio::start(program, &sandbox)).await;
        let started = started.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let (service, stdin, stdout) = started
            .map_err(|error| McpError::Start(format!("{} could not be started: {error}", server.shown())))?;
        let stdout = BoundedOutput::new(stdout, Arc::clone(&calls.output));
        let transport =
            AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(2 * MAX_MESSAGE_BYTES);
        Ok((transport, Some(service)))
    };
    handshake(server, place, open).await
}

async fn over_host(server: &Server, place: &ServerPlace) -> Result<McpConnection, McpError> {
    let gone = || McpError::Start("no program serves it".to_owned());
    let host = place.host.as_ref().ok_or_else(gone)?;
    let open = |_| ready(Ok((HostTransport::new(Arc::clone(host), server.name.clone()), None)));
    handshake(server, place, open).await
}

/// Opens the transport (and starts the program, if it is one) and greets the server. An address is first asked whether
/// it knows 2026-07-28 ("Versioning and Compatibility" of that revision, read on 27 November 2026). A program is greeted
/// as up to 2025-11-25: most know only that, and many of those don't answer a question before the greeting.
async fn handshake<T, E, A, F>(
    server: &Server,
    place: &ServerPlace,
    open: impl Fn(Arc<Calls>) -> F,
) -> Result<McpConnection, McpError>
where
    F: Future<Output = Result<(T, Option<Service>), McpError>>,
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (initialize, newest) = (ClientLifecycleMode::Initialize, vec![ProtocolVersion::V_2026_07_28]);
    let discover = ClientLifecycleMode::Discover { preferred_versions: newest };
    let by_address = matches!(server.transport, Transport::Http { .. });
    let (first, second) = if by_address { (discover, initialize) } else { (initialize, discover) };
    let limit = if by_address { PROBE.min(server.start_timeout) } else { server.start_timeout };
    match attempt(server, place, &open, first, limit).await {
        // An older server may fail in any way on an unknown question.
        Err((error, _)) if by_address && !matches!(error, McpError::SignIn { .. }) => {
            attempt(server, place, &open, second, server.start_timeout).await.map_err(|(error, _)| error)
        }
        Err((error, true)) => attempt(server, place, &open, second, limit)
            .await
            .map_err(|(other, again)| if again { error } else { other }),
        greeted => greeted.map_err(|(error, _)| error),
    }
}

/// The flag of an error says whether the other way of greeting may work.
async fn attempt<T, E, A, F>(
    server: &Server,
    place: &ServerPlace,
    open: &impl Fn(Arc<Calls>) -> F,
    mode: ClientLifecycleMode,
    limit: Duration,
) -> Result<McpConnection, (McpError, bool)>
where
    F: Future<Output = Result<(T, Option<Service>), McpError>>,
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let calls = Arc::<Calls>::default();
    let (transport, service) = open(Arc::clone(&calls)).await.map_err(|error| (error, false))?;
    let serve = serve_client_with_lifecycle(handler(server, place, &calls), transport, mode);
    let error = match (timeout(limit, serve).await, service) {
        (Ok(Ok(running)), service) => {
            calls.watch(running.peer().clone());
            return Ok(McpConnection { running, calls, service, call_timeout: server.call_timeout });
        }
        (Ok(Err(error)), _) if another_lifecycle_may_work(&error) => return Err((start_error(&error), true)),
        (Ok(Err(error)), None) => start_error(&error),
        (Err(_), None) => calls.timeout(limit),
        (Ok(Err(_)), Some(service)) => McpError::Start(match calls.output.fault.get() {
            Some(why) => why.clone(),
            None => broken_off(service).await + &calls.output.stray_line(),
        }),
        (Err(_), Some(service)) => {
            let seconds = limit.as_secs();
            let (wrote, stray) = (complaint(&service.complaints()), calls.output.stray_line());
            McpError::Start(format!("no response within {seconds} s{wrote}{stray}"))
        }
    };
    Err((error, false))
}

fn another_lifecycle_may_work(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::JsonRpcError(_) | ClientInitializeError::ExpectedInitResult(_))
}

fn start_error(error: &ClientInitializeError) -> McpError {
    if let Some(sign_in) = McpError::sign_in(error.auth_challenge(), error.is_authorization_required()) {
        return sign_in;
    }
    McpError::Start(match error {
        // `source()` doesn't include this error.
        ClientInitializeError::TransportError { error, .. } => root_cause(error),
        error => root_cause(error),
    })
}

async fn broken_off(mut service: Service) -> String {
    let how = match service.ended(LAST_WORDS).await {
        Some(Exit::Code(code)) => format!("exited with code {code}"),
        Some(exit @ Exit::Signal(_)) => format!("was {exit}"),
        None => "it does not speak the protocol".to_owned(),
    };
    format!("{how}{}", complaint(&service.complaints()))
}

fn complaint(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; it wrote: {text}") }
}

fn handler(server: &Server, place: &ServerPlace, calls: &Arc<Calls>) -> Handler {
    let root = reqwest::Url::from_directory_path(&place.root).map_or_else(|()| String::new(), String::from);
    let root = root.trim_end_matches('/').to_owned();
    Handler { server: server.name.clone(), root, calls: Arc::clone(calls) }
}

fn program(server: &Server, place: &ServerPlace) -> Result<McpProgram, McpError> {
    let Transport::Stdio { command, args, env, cwd, profile } = &server.transport else {
        return Err(McpError::Start("it isn't a program".to_owned()));
    };
    let expand = |text: &String| expand(text, server, place);
    let cwd = cwd.as_ref().map(expand).transpose()?;
    let env = env.iter().map(|(name, value)| Ok((name.clone(), expand(value)?)));
    Ok(McpProgram {
        command: expand(command)?,
        args: args.iter().map(expand).collect::<Result<_, _>>()?,
        env: env.collect::<Result<_, McpError>>()?,
        cwd: cwd.map_or_else(|| place.root.clone(), |cwd| place.root.join(cwd)),
        profile: profile.clone(),
        own_folder: place.folder_of(server),
    })
}

fn expand(text: &str, server: &Server, place: &ServerPlace) -> Result<String, McpError> {
    let value = |name: &str| match name {
        // Claude Code sets it for servers that it starts.
        "CLAUDE_PROJECT_DIR" => Some(place.root.to_string_lossy().into_owned()),
        _ => std::env::var(name).ok(),
    };
    server::expand(text, &value).map_err(|name| {
        let origin = Path::new(&server.origin).display();
        McpError::Start(format!("the variable {name}, which {origin} names, is not set"))
    })
}
