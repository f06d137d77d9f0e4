//! One running server: from its start to its end, the files that it is shown, and what it finds in them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError};
use super::found::{Found, Sent};
use super::protocol::{self, Abilities, Finding};
use super::wire;
use base::file;
use base::process::service::{self, Service, ServiceSpec};
use base::text::one_line;

/// How long a server may take to be ready.
const START: Duration = Duration::from_secs(60);
/// Unused so long, it is ended.
const UNUSED: Duration = Duration::from_secs(600);
/// For the way out.
const END: Duration = Duration::from_millis(500);
/// Nothing more comes after such a pause: of one that knows the project, and of one that still reads it.
const QUIET: Duration = Duration::from_millis(120);
const QUIET_AT_FIRST: Duration = Duration::from_millis(900);
/// After so long without a word on a file there is nothing to say; before it has read the project, and then.
const SILENT: Duration = Duration::from_secs(4);
const SILENT_AT_FIRST: Duration = Duration::from_secs(10);
/// Files that it is shown at a time.
const OPEN: usize = 40;
/// How often it is asked again when it says that what it found is out of date.
const AGAIN: usize = 5;
/// "Server cancelled" and "content modified": ask again.
const OUT_OF_DATE: [i64; 2] = [-32802, -32801];

/// Whether it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Ready,
    /// Why, for users; empty when we ended it.
    Ended(String),
}

/// What is started, and what it is told.
pub struct Start {
    /// The program's name.
    pub program: String,
    pub service: ServiceSpec,
    pub root: PathBuf,
    pub options: Value,
    pub settings: Value,
}

struct Document {
    version: i32,
    text_hash: String,
    used: u64,
}

struct State {
    phase: Phase,
    abilities: Abilities,
    open: HashMap<PathBuf, Document>,
    found: Found,
    /// Progress that it has announced and not ended.
    busy: HashSet<String>,
    /// Counts all news of findings and progress.
    events: u64,
    refreshes: u64,
    was_ready: bool,
    /// It was told to end.
    leaving: bool,
    /// It was quiet once after it read the project.
    settled_once: bool,
    used: Instant,
}

/// A server.
pub struct Server {
    pub program: String,
    pub root: PathBuf,
    settings: Value,
    connection: Connection,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    stop: CancellationToken,
    /// One edit or question at a time.
    pub turn: tokio::sync::Mutex<()>,
}

impl Server {
    /// Starts one; it gets ready by itself.
    pub fn start(start: Start) -> std::io::Result<Arc<Self>> {
        let (service, stdin, stdout) = service::start(start.service)?;
        let server = Arc::new(Self {
            program: start.program,
            root: start.root,
            settings: start.settings,
            connection: Connection::new(stdin),
            state: Mutex::new(State {
                phase: Phase::Starting,
                abilities: Abilities::default(),
                open: HashMap::new(),
                found: Found::default(),
                busy: HashSet::new(),
                events: 0,
                refreshes: 0,
                was_ready: false,
                leaving: false,
                settled_once: false,
                used: Instant::now(),
            }),
            changed: watch::Sender::new(()),
            stop: CancellationToken::new(),
            turn: tokio::sync::Mutex::default(),
        });
        tokio::spawn(Arc::clone(&server).run(service, stdout, start.options));
        Ok(server)
    }

    /// From the first message to the end of the process.
    async fn run(self: Arc<Self>, service: Service, stdout: ChildStdout, options: Value) {
        let why = tokio::select! {
            fault = self.read(stdout) => fault,
            done = self.live(&options) => done,
        };
        let complaints = service.complaints();
        drop(service);
        let why = if self.state().leaving { String::new() } else { why };
        let last = complaints.lines().rev().find(|line| !line.trim().is_empty());
        let why = match last {
            Some(last) if !why.is_empty() => format!("{why}: {}", one_line(last, 200)),
            _ => why,
        };
        self.state().phase = Phase::Ended(why);
        self.connection.close();
        self.changed.send_replace(());
    }

    /// Takes in what it says until it says nothing any more; why that is.
    async fn read(&self, stdout: ChildStdout) -> String {
        let mut stdout = BufReader::new(stdout);
        loop {
            match wire::read(&mut stdout).await {
                Ok(Some(message)) => self.take(message),
                Ok(None) => return "it ended".to_owned(),
                Err(error) => return format!("it {error}"),
            }
        }
    }

    /// Greets it, waits until it is not needed any more, and takes leave.
    async fn live(&self, options: &Value) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        let greeting = protocol::initialize(&self.root, &name, options);
        match self.connection.request("initialize", greeting, START).await {
            Ok(answer) => {
                self.state().abilities = protocol::abilities(&answer);
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
            let mut state = self.state();
            (state.phase, state.was_ready) = (Phase::Ready, true);
        }
        self.changed.send_replace(());
        loop {
            let used = self.state().used;
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = sleep_until(used + UNUSED) => if self.state().used == used { break },
            }
        }
        self.state().leaving = true;
        let _ = self.connection.request("shutdown", Value::Null, END).await;
        self.connection.notify("exit", Value::Null);
        tokio::time::sleep(END).await;
        String::new()
    }

    /// Ends it; returns when it has.
    pub async fn stop(&self) {
        self.stop.cancel();
        let _ = timeout(2 * END, self.until(|state| matches!(state.phase, Phase::Ended(_)))).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it can be asked.
    pub fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    /// Whether it could ever be asked.
    pub fn was_ready(&self) -> bool {
        self.state().was_ready
    }

    /// It has read the project.
    pub fn knows_project(&self) -> bool {
        self.state().settled_once
    }

    /// Its columns are bytes; else UTF-16 units.
    pub fn counts_bytes(&self) -> bool {
        self.state().abilities.utf8
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            let holds = holds(&self.state());
            if holds || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until it can be asked; whether it can.
    pub async fn ready(&self) -> bool {
        self.until(|state| state.phase != Phase::Starting).await;
        let mut state = self.state();
        state.used = Instant::now();
        state.phase == Phase::Ready
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
            let mut state = self.state();
            match method {
                "textDocument/publishDiagnostics" => {
                    let Some((path, version, findings)) = protocol::published(params) else { return };
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

    /// The answer to a question of the server's.
    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => Some(protocol::configuration(params, &self.settings)),
            "client/registerCapability" => {
                if protocol::registers_pull(params) {
                    self.state().abilities.pull = true;
                }
                Some(Value::Null)
            }
            "workspace/diagnostic/refresh" => {
                let mut state = self.state();
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

    /// Makes known what it found before the file was edited; `None`: the file is new.
    pub async fn know_before(&self, path: &Path, language: &str, before: Option<&str>, limit: Duration) {
        let (open, pull, known) = {
            let state = self.state();
            let open = state.open.contains_key(path);
            (open, state.abilities.pull, open && state.found.is_known(path))
        };
        if let Some(before) = before.filter(|_| !known) {
            // One that sends what it finds has done so, and may not do it again for the same text.
            if !open || pull {
                let shown = self.show(path, language, before);
                self.settled(&shown, limit).await;
            }
            // What one sends that is asked otherwise is found on the disk, where the edit is done already.
            self.state().found.know(path, before, pull);
        }
        if known || !pull {
            self.new_elsewhere(path);
        }
    }

    /// Shows it a file's text unless that is what it was shown last.
    pub fn keep_up(&self, path: &Path, language: &str, text: &str) {
        let hash = file::hash(text.as_bytes());
        let same = self.state().open.get(path).is_some_and(|document| document.text_hash == hash);
        if !same {
            self.show(path, language, text);
        }
    }

    /// Shows it a file's text as it is now.
    pub fn show(&self, path: &Path, language: &str, text: &str) -> Shown {
        let text_hash = file::hash(text.as_bytes());
        let mut state = self.state();
        state.used = Instant::now();
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

    /// Says that the file was written.
    pub fn saved(&self, path: &Path, text: &str) {
        self.connection.notify("workspace/didChangeWatchedFiles", protocol::files_changed(path));
        if self.state().abilities.save {
            self.connection.notify("textDocument/didSave", protocol::did_save(path, text));
        }
    }

    /// Waits until it has found what there is to find in what it was shown; whether it has.
    pub async fn settled(&self, shown: &Shown, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let settled = async {
            for _ in 0..AGAIN {
                let refreshes = self.state().refreshes;
                if !self.looked_at(shown).await {
                    return false;
                }
                self.quiet().await;
                if self.state().refreshes == refreshes {
                    break;
                }
            }
            true
        };
        timeout_at(end, settled).await.unwrap_or(false)
    }

    /// Waits until it has said what it finds in this version of the file, or is asked for it.
    async fn looked_at(&self, shown: &Shown) -> bool {
        if !self.state().abilities.pull {
            let told = |state: &State| {
                state.found.is_told(&shown.path, shown.version, shown.number)
                    || state.phase != Phase::Ready
                    || state.abilities.pull
            };
            // Some say nothing when nothing has changed.
            let silent = if self.state().settled_once { SILENT } else { SILENT_AT_FIRST };
            while timeout(silent, self.until(told)).await.is_err() && !self.state().busy.is_empty() {}
            if !self.state().abilities.pull {
                return self.phase() == Phase::Ready;
            }
        }
        for _ in 0..AGAIN {
            let question = protocol::of_file(&shown.path);
            match self.connection.request("textDocument/diagnostic", question, START).await {
                Ok(answer) => {
                    if let Some(found) = protocol::pulled(answer) {
                        self.state().found.pulled(shown.path.clone(), found);
                    }
                    return true;
                }
                Err(RequestError::Refused { code, .. }) if OUT_OF_DATE.contains(&code) => self.quiet().await,
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until it is done with what it has announced, and nothing more comes.
    pub async fn quiet(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            let (busy, pause) = {
                let state = self.state();
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
                self.state().settled_once = true;
                return;
            }
        }
    }

    /// What is new in a file that was edited; it is known from here on.
    pub fn new_in(&self, path: &Path, text: &str) -> Vec<Finding> {
        self.state().found.new_in(path, text)
    }

    /// The errors in files that it was not shown: those that are new are known from here on.
    pub fn new_elsewhere(&self, except: &Path) -> Vec<(PathBuf, Finding)> {
        let mut state = self.state();
        let State { found, open, .. } = &mut *state;
        found.new_elsewhere(|path| path == except || open.contains_key(path))
    }

    /// Asks it something about the project.
    pub async fn ask(&self, method: &str, params: Value, limit: Duration) -> Result<Value, RequestError> {
        self.state().used = Instant::now();
        for _ in 0..AGAIN {
            match self.connection.request(method, params.clone(), limit).await {
                Err(RequestError::Refused { code, .. }) if OUT_OF_DATE.contains(&code) => self.quiet().await,
                answer => return answer,
            }
        }
        Err(RequestError::Late)
    }
}

/// A version of a file that a server was shown.
pub struct Shown {
    path: PathBuf,
    version: i32,
    /// What it had said by then.
    number: u64,
}
