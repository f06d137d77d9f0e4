//! The connection: routes every message of the client. When the client closes its side or is gone, everything
//! running is stopped and saved.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateResponse, CancelNotification,
    CancelRequestNotification, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest,
    DeleteSessionResponse, Error, ErrorCode, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, McpCapabilities, NewSessionRequest, PromptCapabilities,
    PromptRequest, RequestId, ResumeSessionRequest, SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities,
    SessionInfo, SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use futures_util::stream::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::connection::{self, Client, Incoming};
use super::error;
use super::prompt::Input;
use super::session::work::SessionCommand;
use super::sessions::Sessions;
use super::source::{SessionSource, Wanted, Which};
use base::process::signals::interrupts;
use base::process::task;
use base::protocol::event::SessionRow;

const PAGE: usize = 100;
/// How long to wait at the end for a client that doesn't read.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(2);

pub async fn run(
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    source: Arc<dyn SessionSource>,
) -> io::Result<()> {
    let mut interrupts = std::pin::pin!(interrupts());
    let (client, lines) = Client::new();
    let mut writer = task::spawn(write(lines, output));
    let mut server = Server { sessions: Arc::new(Sessions::new(client, source)), work: JoinSet::new() };
    let mut read = Ok(());
    loop {
        let incoming = tokio::select! {
            incoming = connection::next(&mut input) => incoming,
            _ = &mut writer => break,
            Some(()) = interrupts.next() => break,
            Some(_) = server.work.join_next(), if !server.work.is_empty() => continue,
        };
        match incoming {
            Ok(Some(incoming)) => server.take(incoming),
            Ok(None) => break,
            Err(error) => {
                read = Err(error);
                break;
            }
        }
    }
    server.work.shutdown().await;
    server.sessions.close_all().await;
    drop(server);
    if !writer.is_finished() {
        let _ = tokio::time::timeout(LAST_LINES_TIMEOUT, writer).await;
    }
    read
}

async fn write(mut lines: UnboundedReceiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = lines.recv().await {
        let mut written = output.write_all(line.as_bytes()).await;
        while let Ok(more) = lines.try_recv()
            && written.is_ok()
        {
            written = output.write_all(more.as_bytes()).await;
        }
        if written.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

struct Server {
    sessions: Arc<Sessions>,
    work: JoinSet<()>,
}

impl Server {
    fn take(&mut self, incoming: Incoming) {
        let client = &self.sessions.client;
        match incoming {
            Incoming::Request { id, method, params } => {
                if let Err(error) = self.request(&id, &method, params) {
                    self.sessions.client.refuse(&id, error);
                }
            }
            Incoming::Notification { method, params } => self.notification(&method, params),
            Incoming::Answer { id, reply } => client.answered(&id, reply),
            Incoming::Garbage { id, error } => client.refuse(&id, error),
        }
    }

    fn request(&mut self, asked: &RequestId, method: &str, params: Value) -> Result<(), Error> {
        if method != "initialize" && self.sessions.capabilities.get().is_none() {
            return Err(error::invalid_request("send initialize first"));
        }
        let id = asked.clone();
        match method {
            "initialize" => self.initialize(&id, parsed(params)?),
            "authenticate" => self.beside(|sessions| async move {
                let done = sessions.source.authenticate().await;
                sessions.client.answer(&id, done.map(|()| AuthenticateResponse::new()));
            }),
            "session/new" => {
                let NewSessionRequest { cwd, additional_directories: more, mcp_servers, .. } =
                    parsed(params)?;
                self.open(id, Wanted { which: Which::New, folder: cwd, more, mcp_servers }, false);
            }
            // The three have the same parameters.
            "session/load" | "session/resume" | "session/fork" => {
                let request: ResumeSessionRequest = parsed(params)?;
                let ResumeSessionRequest { session_id, mcp_servers, .. } = request;
                let which = if method == "session/fork" { Which::ForkOf } else { Which::Stored };
                let (which, replay) = (which(session_id.to_string()), method == "session/load");
                let (folder, more) = (request.cwd, request.additional_directories);
                self.open(id, Wanted { which, folder, more, mcp_servers }, replay);
            }
            "session/list" => self.list(id, parsed(params)?)?,
            "session/delete" => {
                let DeleteSessionRequest { session_id, .. } = parsed(params)?;
                self.beside(|sessions| async move {
                    sessions.close(&session_id).await;
                    let deleted = sessions.source.delete(session_id.to_string()).await;
                    sessions.client.answer(&id, deleted.map(|()| DeleteSessionResponse::new()));
                });
            }
            "session/close" => {
                let CloseSessionRequest { session_id, .. } = parsed(params)?;
                self.beside(|sessions| async move {
                    sessions.close(&session_id).await;
                    sessions.client.answer(&id, Ok(CloseSessionResponse::new()));
                });
            }
            "session/prompt" => {
                let PromptRequest { session_id, prompt, .. } = parsed(params)?;
                let input = Input::of_blocks(prompt, &self.sessions.folder(&session_id)?)?;
                self.sessions.command(&session_id, SessionCommand::Prompt { id, input })?;
            }
            "session/set_mode" => {
                let request: SetSessionModeRequest = parsed(params)?;
                let session = request.session_id.clone();
                self.sessions.command(&session, SessionCommand::SetMode { id, request })?;
            }
            "session/set_config_option" => {
                let request: SetSessionConfigOptionRequest = parsed(params)?;
                let session = request.session_id.clone();
                self.sessions.command(&session, SessionCommand::SetOption { id, request })?;
            }
            other => {
                let why = format!("unknown method {other}");
                return Err(error::error(ErrorCode::MethodNotFound, why));
            }
        }
        Ok(())
    }

    fn notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(CancelNotification { session_id, .. }) = parsed(params) {
                    let _ = self.sessions.command(&session_id, SessionCommand::Cancel);
                }
            }
            "$/cancel_request" => {
                if let Ok(CancelRequestNotification { request_id, .. }) = parsed(params) {
                    self.sessions.command_all(|| SessionCommand::CancelRequest(request_id.clone()));
                }
            }
            _ => {}
        }
    }

    fn initialize(&self, id: &RequestId, request: InitializeRequest) {
        // Only the first `initialize` counts.
        let _ = self.sessions.capabilities.set(request.client_capabilities);
        let prompts = PromptCapabilities::new().image(true).embedded_context(true);
        let sessions = SessionCapabilities::new()
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .fork(SessionForkCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let method = AuthMethodAgent::new("configured", "A configured model").description(
            "Set OPENAI_API_KEY or ANTHROPIC_API_KEY for the agent, or a provider in its config.toml; `mycode doctor` \
             tests it"
                .to_owned(),
        );
        let us = Implementation::new("mycode", env!("CARGO_PKG_VERSION")).title("MyCodeAgent".to_owned());
        let answer = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(method)])
            .agent_info(us);
        self.sessions.client.answer(id, Ok(answer));
    }

    fn beside<W: Future<Output = ()> + Send + 'static>(&mut self, work: impl FnOnce(Arc<Sessions>) -> W) {
        let work = work(Arc::clone(&self.sessions));
        self.work.spawn(work);
    }

    fn open(&mut self, id: RequestId, wanted: Wanted, replay: bool) {
        self.beside(|sessions| async move { sessions.open(id, wanted, replay).await });
    }

    fn list(&mut self, id: RequestId, request: ListSessionsRequest) -> Result<(), Error> {
        let ListSessionsRequest { cwd, cursor, .. } = request;
        let from = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let from = from.map_err(|_| error::invalid_params("unknown cursor"))?;
        if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
            return Err(error::invalid_params(format!("cwd is not absolute: {}", cwd.display())));
        }
        self.beside(|sessions| async move {
            let rows = sessions.source.list(cwd).await;
            let more = (rows.len() > from + PAGE).then(|| (from + PAGE).to_string());
            let page = rows.into_iter().skip(from).take(PAGE).map(listed).collect();
            sessions.client.answer(&id, Ok(ListSessionsResponse::new(page).next_cursor(more)));
        });
        Ok(())
    }
}

fn listed(row: SessionRow) -> SessionInfo {
    let changed =
        i64::try_from(row.updated_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let title = Some(row.title).filter(|title| !title.is_empty());
    SessionInfo::new(row.id, row.workspace).title(title).updated_at(changed.map(|at| at.to_string()))
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    let params = if params.is_null() { Value::Object(Default::default()) } else { params };
    serde_json::from_value(params)
        .map_err(|error| error::invalid_params(format!("invalid parameters: {error}")))
}
