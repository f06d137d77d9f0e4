//! One running server: its lifetime, the files it was shown, and its findings.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::connection::{self, LspConnection, RequestError};
use super::findings::{Found, Sent};
use super::protocol::{self, Abilities, Finding};
use base::config::language_servers::LanguageServer;
use base::file;
use base::process::service::{self, Service, ServiceSpec};
use base::process::task;
use base::text::one_line;

const START: Duration = Duration::from_secs(60);
const UNUSED: Duration = Duration::from_secs(600);
const END: Duration = Duration::from_millis(500);
/// A pause this long means no more messages are coming: once the project is known, and before that.
const QUIET: Duration = Duration::from_millis(120);
const QUIET_AT_FIRST: Duration = Duration::from_millis(900);
/// No message about a file for this long means no findings: once the project is known, and before that.
const SILENT: Duration = Duration::from_secs(4);
const SILENT_AT_FIRST: Duration = Duration::from_secs(10);
const OPEN: usize = 40;
/// Repetitions of a request whose findings are out of date.
const AGAIN: usize = 5;
/// "Server cancelled" and "content modified", after which the request is repeated.
const OUT_OF_DATE: [i64; 2] = [-32802, -32801];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Starting,
    Ready,
    /// The reason, for users; empty if we stopped the server.
    Ended(String),
}

struct Document {
    version: i32,
    text_hash: String,
    used: u64,
}

#[derive(Default)]
struct State {
    phase: Phase,
    abilities: Abilities,
    open: HashMap<PathBuf, Document>,
    found: Found,
    busy: HashSet<String>,
    /// Counts all changes of findings or progress.
    events: u64,
    refreshes: u64,
    was_ready: bool,
    leaving: bool,
    /// It has been quiet once since reading the project.
    settled_once: bool,
    told_needs: bool,
}

pub struct RunningServer {
    pub program: String,
    pub root: PathBuf,
    settings: Value,
    connection: LspConnection,
    state: Mutex<State>,
    used: Mutex<Instant>,
    changed: watch::Sender<()>,
    stop: CancellationToken,
    /// One edit or query at a time.
    pub turn: tokio::sync::Mutex<()>,
}

impl RunningServer {
    pub fn start(row: &LanguageServer, program: String, service: ServiceSpec) -> std::io::Result<Arc<Self>> {
        let root = service.cwd.clone();
        let (service, stdin, stdout) = service::start(service)?;
        let server = Arc::new(Self {
            program,
            root,
            settings: row.settings.clone(),
            connection: LspConnection::new(stdin),
            state: Mutex::default(),
            used: Mutex::new(Instant::now()),
            changed: watch::Sender::new(()),
            stop: CancellationToken::new(),
            turn: tokio::sync::Mutex::default(),
        });
        task::spawn(Arc::clone(&server).run(service, stdout, row.options.clone()));
        Ok(server)
    }

    async fn run(self: Arc<Self>, service: Service, stdout: ChildStdout, options: Value) {
        let why = tokio::select! {
            fault = self.read(stdout) => fault,
            done = self.live(&options) => done,
        };
        let complaints = service.complaints();
        drop(service);
        let why = if self.state.lock().leaving { String::new() } else { why };
        let last = complaints.lines().rev().find(|line| !line.trim().is_empty());
        let why = match last {
            Some(last) if !why.is_empty() => format!("{why}: {}", one_line(last, 200)),
            _ => why,
        };
        self.state.lock().phase = Phase::Ended(why);
        self.connection.close();
        self.changed.send_replace(());
    }

    /// Reads messages until the stream ends; returns why.
    async fn read(&self, stdout: ChildStdout) -> String {
        let mut stdout = BufReader::new(stdout);
        loop {
            match connection::read(&mut stdout).await {
                Ok(Some(message)) => self.take(message),
                Ok(None) => return "it ended".to_owned(),
                Err(error) => return format!("it {error}"),
            }
        }
    }

    /// Initializes the server, waits until it is no longer needed, and shuts it down.
    async fn live(&self, options: &Value) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        let greeting = protocol::initialize(&self.root, &name, options);
        match self.connection.request("initialize", greeting, START).await {
            Ok(answer) => {
                self.state.lock().abilities = protocol::abilities(&answer);
            }
            Err(RequestError::Refused { message, .. }) => return one_line(&message, 200),
            Err(RequestError::Late) => return format!("it was not ready after {} s", START.as_secs()),
            Err(RequestError::Ended) => std::future::pending().await,
        }
        self.connection.notify("initialized", json!({}));
        if !self.settings.is_null() {
            self.connection.notify("workspace/didChangeConfiguration", json!({"settings": self.settings}));
        }
        {
            let mut state = self.state.lock();
            (state.phase, state.was_ready) = (Phase::Ready, true);
        }
        self.changed.send_replace(());
        loop {
            let used = *self.used.lock();
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = sleep_until(used + UNUSED) => if *self.used.lock() == used { break },
            }
        }
        self.state.lock().leaving = true;
        let _ = self.connection.request("shutdown", Value::Null, END).await;
        self.connection.notify("exit", Value::Null);
        tokio::time::sleep(END).await;
        String::new()
    }

    pub async fn stop(&self) {
        self.stop.cancel();
        let _ = timeout(2 * END, self.until(|state| matches!(state.phase, Phase::Ended(_)))).await;
    }

    pub fn phase(&self) -> Phase {
        self.state.lock().phase.clone()
    }

    pub fn was_ready(&self) -> bool {
        self.state.lock().was_ready
    }

    pub fn knows_project(&self) -> bool {
        self.state.lock().settled_once
    }

    /// What the server's project lacks; only the first time.
    pub fn lacks(&self, row: &LanguageServer) -> Option<String> {
        let is_there = |name: &String| self.root.ancestors().any(|folder| folder.join(name).exists());
        let (_, told) = row.needs.iter().find(|(name, _)| !is_there(name))?;
        let again = std::mem::replace(&mut self.state.lock().told_needs, true);
        (!again).then(|| format!("{}: {told}.", self.program))
    }

    pub fn counts_bytes(&self) -> bool {
        self.state.lock().abilities.utf8
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            let holds = holds(&self.state.lock());
            if holds || changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub async fn ready(&self) -> bool {
        self.until(|state| state.phase != Phase::Starting).await;
        *self.used.lock() = Instant::now();
        self.phase() == Phase::Ready
    }

    fn take(&self, mut message: Value) {
        if !message.is_object() {
            return;
        }
        let method = message["method"].take();
        let Some(method) = method.as_str() else { return self.connection.answered(message) };
        let params = message["params"].take();
        if let Some(id) = message.get("id") {
            self.connection.respond(id, self.answer(method, &params));
            return;
        }
        {
            let mut state = self.state.lock();
            match method {
                "textDocument/publishDiagnostics" => {
                    let Some((path, version, findings)) = protocol::published(&params) else { return };
                    if !path.starts_with(&self.root) {
                        return;
                    }
                    state.events += 1;
                    let number = state.events;
                    state.found.sent(path, Sent { version, number, findings });
                }
                "$/progress" => {
                    let token = params["token"].to_string();
                    if !protocol::is_awaited(&token) {
                        return;
                    }
                    match params["value"]["kind"].as_str() {
                        Some("begin") => state.busy.insert(token),
                        Some("end") => state.busy.remove(&token),
                        _ => return,
                    };
                    state.events += 1;
                }
                _ => return,
            }
        }
        self.changed.send_replace(());
    }

    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => Some(protocol::configuration(params, &self.settings)),
            "client/registerCapability" => {
                if protocol::registers_pull(params) {
                    self.state.lock().abilities.pull = true;
                }
                Some(Value::Null)
            }
            "workspace/diagnostic/refresh" => {
                let mut state = self.state.lock();
                (state.refreshes, state.events) = (state.refreshes + 1, state.events + 1);
                drop(state);
                self.changed.send_replace(());
                Some(Value::Null)
            }
            "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest" => Some(Value::Null),
            "window/showDocument" => Some(json!({"success": false})),
            "workspace/applyEdit" => Some(json!({"applied": false, "failureReason": "not allowed"})),
            "workspace/workspaceFolders" => {
                Some(json!([{"uri": protocol::uri(&self.root), "name": self.program}]))
            }
            _ => None,
        }
    }

    /// Marks findings from before the edit as known. `before` is `None` for a new file.
    pub async fn know_before(&self, path: &Path, language: &str, before: Option<&str>, limit: Duration) {
        let (open, pull, known) = {
            let state = self.state.lock();
            let open = state.open.contains_key(path);
            (open, state.abilities.pull, open && state.found.is_known(path))
        };
        if let Some(before) = before.filter(|_| !known) {
            // A server that pushes has already sent its findings and may not repeat them for the same text.
            if !open || pull {
                let shown = self.show(path, language, before);
                self.settled(&shown, limit).await;
            }
            // What a pull server pushes comes from the disk, which already has the edit.
            self.state.lock().found.know(path, before, pull);
        }
        if known || !pull {
            self.new_elsewhere(path);
        }
    }

    /// Sends a file's text unless the server already has it.
    pub fn keep_up(&self, path: &Path, language: &str, text: &str) {
        let hash = file::hash(text.as_bytes());
        let same = self.state.lock().open.get(path).is_some_and(|document| document.text_hash == hash);
        if !same {
            self.show(path, language, text);
        }
    }

    pub fn show(&self, path: &Path, language: &str, text: &str) -> Shown {
        let text_hash = file::hash(text.as_bytes());
        *self.used.lock() = Instant::now();
        let mut state = self.state.lock();
        let number = state.events;
        let used = state.open.values().map(|document| document.used).max().unwrap_or(0) + 1;
        let (version, method, message) = match state.open.get_mut(path) {
            Some(document) => {
                (document.version, document.used) = (document.version + 1, used);
                document.text_hash = text_hash;
                let message = protocol::did_change(path, document.version, text);
                (document.version, "textDocument/didChange", message)
            }
            None => {
                state.open.insert(path.to_owned(), Document { version: 1, text_hash, used });
                (1, "textDocument/didOpen", protocol::did_open(path, language, 1, text))
            }
        };
        let surplus = (state.open.len() > OPEN)
            .then(|| state.open.iter().min_by_key(|(_, document)| document.used))
            .flatten()
            .map(|(path, _)| path.clone());
        if let Some(path) = &surplus {
            state.open.remove(path);
            state.found.forget(path);
        }
        drop(state);
        self.connection.notify(method, message);
        if let Some(path) = surplus {
            self.connection.notify("textDocument/didClose", protocol::of_file(&path));
        }
        Shown { path: path.to_owned(), version, number }
    }

    pub fn saved(&self, path: &Path, text: &str) {
        self.connection.notify("workspace/didChangeWatchedFiles", protocol::files_changed(path));
        if self.state.lock().abilities.save {
            self.connection.notify("textDocument/didSave", protocol::did_save(path, text));
        }
    }

    /// Waits for all findings about what was shown; returns whether they are complete.
    pub async fn settled(&self, shown: &Shown, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let settled = async {
            for _ in 0..AGAIN {
                let refreshes = self.state.lock().refreshes;
                if !self.looked_at(shown).await {
                    return false;
                }
                self.quiet().await;
                if self.state.lock().refreshes == refreshes {
                    break;
                }
            }
            true
        };
        timeout_at(end, settled).await.unwrap_or(false)
    }

    /// Waits for findings about this version of the file, or requests them.
    async fn looked_at(&self, shown: &Shown) -> bool {
        if !self.state.lock().abilities.pull {
            let told = |state: &State| {
                state.found.is_told(&shown.path, shown.version, shown.number)
                    || state.phase != Phase::Ready
                    || state.abilities.pull
            };
            // Some servers send nothing if nothing has changed.
            let silent = if self.state.lock().settled_once { SILENT } else { SILENT_AT_FIRST };
            while timeout(silent, self.until(told)).await.is_err() && !self.state.lock().busy.is_empty() {}
            if !self.state.lock().abilities.pull {
                return self.phase() == Phase::Ready;
            }
        }
        let question = protocol::of_file(&shown.path);
        let Ok(answer) = self.ask("textDocument/diagnostic", question, START).await else { return false };
        if let Some(found) = protocol::pulled(&answer) {
            self.state.lock().found.pulled(shown.path.clone(), found);
        }
        true
    }

    /// Waits until all announced progress is finished and no more messages come.
    pub async fn quiet(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            let (busy, pause) = {
                let state = self.state.lock();
                if matches!(state.phase, Phase::Ended(_)) {
                    return;
                }
                (!state.busy.is_empty(), if state.settled_once { QUIET } else { QUIET_AT_FIRST })
            };
            let changed = changed.changed();
            if busy {
                if changed.await.is_err() {
                    return;
                }
            } else if timeout(pause, changed).await.is_err() {
                self.state.lock().settled_once = true;
                return;
            }
        }
    }

    pub fn new_in(&self, path: &Path, text: &str) -> Vec<Finding> {
        self.state.lock().found.new_in(path, text)
    }

    /// New errors in files that the server wasn't shown; marks them as known.
    pub fn new_elsewhere(&self, except: &Path) -> Vec<(PathBuf, Finding)> {
        let mut state = self.state.lock();
        let State { found, open, .. } = &mut *state;
        found.new_elsewhere(|path| path == except || open.contains_key(path))
    }

    pub async fn ask(&self, method: &str, params: Value, limit: Duration) -> Result<Value, RequestError> {
        *self.used.lock() = Instant::now();
        for _ in 0..AGAIN {
            match self.connection.request(method, params.clone(), limit).await {
                Err(RequestError::Refused { code, .. }) if OUT_OF_DATE.contains(&code) => self.quiet().await,
                answer => return answer,
            }
        }
        Err(RequestError::Late)
    }
}

pub struct Shown {
    path: PathBuf,
    version: i32,
    number: u64,
}
