//! A session's servers: started on first use and kept. A failed server restarts on its next use,
//! after a pause that doubles each time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync;

use super::catalog::{Catalog, Learned, LearnedServer, LearnedTool};
use super::client::connection::McpConnection;
use super::client::connector::{ServerPlace, connect};
use super::client::error::McpError;
use super::config::entry;
use super::config::server::{Server, Transport};
use base::config::files::load::Loaded;
use base::config::trusted::agent_files::AgentFile;
use base::process::task;

/// Sign-in attempts per use, because a server might refuse every token.
const SIGN_INS: usize = 3;
/// There is no pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
const LISTED_CHARS: usize = 160;

/// The servers in these files, and problems. If the administrator locked the sandbox, all servers are sandboxed.
pub fn configured(files: &[AgentFile], loaded: &Loaded) -> (Vec<Server>, Vec<String>) {
    let (mut all, problems) = read(files, loaded.work.sandbox);
    let locked = loaded.work.sandbox && loaded.admin.lock("sandbox").is_some();
    for server in all.iter_mut().filter(|_| locked) {
        if let Transport::Stdio { profile, .. } = &mut server.transport {
            profile.get_or_insert_default();
        }
    }
    (all, problems)
}

/// Later files override earlier ones; unsandboxed if the user disabled the sandbox. Also returns problems.
pub fn read(files: &[AgentFile], sandbox: bool) -> (Vec<Server>, Vec<String>) {
    let (mut all, mut problems) = (Vec::<Server>::new(), Vec::new());
    for file in files {
        let (servers, wrong) = entry::read_file(&file.path, &file.text);
        problems.extend(wrong);
        all.retain(|known| servers.iter().all(|server| server.name != known.name));
        all.extend(servers);
    }
    for server in all.iter_mut().filter(|_| !sandbox) {
        if let Transport::Stdio { profile, .. } = &mut server.transport {
            *profile = None;
        }
    }
    (all, problems)
}

struct Slot {
    server: Arc<Server>,
    state: sync::Mutex<State>,
    known: Mutex<LearnedServer>,
    is_off: AtomicBool,
    /// The host program added it during the session, or serves it.
    is_replaceable: AtomicBool,
}

impl Slot {
    fn new(server: Server, known: LearnedServer) -> Arc<Self> {
        let is_replaceable = matches!(server.transport, Transport::Host).into();
        let (server, state) = (Arc::new(server), sync::Mutex::default());
        Arc::new(Self { server, state, known: Mutex::new(known), is_off: false.into(), is_replaceable })
    }
}

#[derive(Default)]
struct State {
    connection: Option<Arc<McpConnection>>,
    catalog: Option<Arc<Catalog>>,
    failures: u32,
    pause: Option<(Instant, String)>,
}

pub struct Servers {
    slots: RwLock<Vec<Arc<Slot>>>,
    pub place: ServerPlace,
    learned: Learned,
    /// Whether servers changed since the model was told.
    changed: AtomicBool,
}

impl Servers {
    /// Keeps the enabled servers, and reads what was learned about them. Blocks.
    pub fn new(servers: Vec<Server>, place: ServerPlace) -> Self {
        let learned = Learned::new(&place.state);
        let mut known = if servers.is_empty() { BTreeMap::new() } else { learned.read() };
        let slot = |server: Server| {
            let known = known.remove(&server.hash).unwrap_or_default();
            Slot::new(server, known)
        };
        let slots: Vec<_> = servers.into_iter().filter(|server| server.enabled).map(slot).collect();
        Self { slots: RwLock::new(slots), place, learned, changed: false.into() }
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        self.slots.read().iter().map(|slot| Arc::clone(&slot.server)).collect()
    }

    /// Replaces the servers of an earlier call with these; returns the names that were added and removed.
    pub fn replace(&self, wanted: Vec<Server>) -> (Vec<String>, Vec<String>) {
        let mut slots = self.slots.write();
        let name = |slot: &Arc<Slot>| slot.server.name.clone();
        let named = |slot: &Slot| wanted.iter().find(|server| server.name == slot.server.name);
        let stays = |slot: &Arc<Slot>| match named(slot) {
            Some(server) => server.hash == slot.server.hash,
            None => !slot.is_replaceable.load(Ordering::Relaxed),
        };
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut *slots).into_iter().partition(stays);
        let removed = gone.iter().filter(|slot| named(slot).is_none()).map(name).collect();
        *slots = kept;
        let mut added = Vec::new();
        for server in wanted {
            if !slots.iter().any(|slot| slot.server.name == server.name) {
                added.push(server.name.clone());
                slots.push(Slot::new(server.clone(), LearnedServer::default()));
            }
            let slot = slots.iter().find(|slot| slot.server.name == server.name);
            slot.inspect(|slot| slot.is_replaceable.store(true, Ordering::Relaxed));
        }
        self.changed.store(true, Ordering::Relaxed);
        (added, removed)
    }

    pub fn listed(&self) -> Vec<String> {
        self.all().iter().map(|server| listed(&server.name, &self.known(&server.name).tools)).collect()
    }

    pub fn news(&self) -> Option<String> {
        let changed = self.changed.swap(false, Ordering::Relaxed);
        changed.then(|| format!("The tools of MCP servers are now: {}.", self.listed().join("; ")))
    }

    pub fn starting(&self) -> Vec<String> {
        let slots = self.slots.read();
        let is_off = |slot: &Slot| slot.is_off.load(Ordering::Relaxed);
        let waits = |slot: &Slot| slot.state.try_lock().map_or(true, |state| state.catalog.is_none());
        slots
            .iter()
            .filter(|slot| !is_off(slot) && waits(slot))
            .map(|slot| slot.server.name.clone())
            .collect()
    }

    pub fn known(&self, server: &str) -> LearnedServer {
        self.slot(server).map(|slot| slot.known.lock().clone()).unwrap_or_default()
    }

    /// Runs a request on the server's connection, opening it if necessary.
    pub async fn with<T, F: Future<Output = Result<T, McpError>> + Send>(
        &self,
        server: &str,
        work: impl Fn(Arc<McpConnection>) -> F + Send + Sync,
    ) -> Result<T, McpError> {
        let slot = &*self.slot(server)?;
        let mut challenge: Option<String> = None;
        for _ in 0..SIGN_INS {
            let connection = match challenge.take() {
                None => self.connection(slot).await?,
                Some(challenge) => self.open(slot, &mut *slot.state.lock().await, Some(&challenge)).await?,
            };
            let answer = work(Arc::clone(&connection)).await;
            if connection.is_closed() {
                self.forget(slot, &connection).await;
            }
            match answer {
                Err(McpError::SignIn { challenge: why, failed: None }) => {
                    self.forget(slot, &connection).await;
                    challenge = Some(why);
                }
                Err(McpError::Timeout(limit, stray)) if !connection.is_alive().await => {
                    self.forget(slot, &connection).await;
                    return Err(McpError::Hung(limit, stray));
                }
                Err(McpError::Lost(why)) => {
                    return Err(McpError::Lost(format!("{why}{}", connection.complaints())));
                }
                answer => return answer,
            }
        }
        Err(McpError::SignIn {
            challenge: challenge.unwrap_or_default(),
            failed: Some("the server refuses every new sign-in for this".to_owned()),
        })
    }

    pub async fn catalog(&self, server: &str) -> Result<Arc<Catalog>, McpError> {
        let slot = &*self.slot(server)?;
        let known = {
            let mut state = slot.state.lock().await;
            if state
                .connection
                .as_ref()
                .is_none_or(|open| open.is_closed() || open.calls.stale.swap(false, Ordering::Relaxed))
            {
                state.catalog = None;
            }
            state.catalog.clone()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let mut catalog = self.with(server, |connection| async move { connection.catalog().await }).await?;
        // A tool with an invalid name can't be shown or called.
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_control);
        catalog.tools.retain(|tool| is_name(&tool.name) && slot.server.offers(&tool.name));
        let catalog = Arc::new(catalog);
        slot.state.lock().await.catalog = Some(Arc::clone(&catalog));
        self.learn(slot, &catalog).await;
        Ok(catalog)
    }

    async fn learn(&self, slot: &Slot, catalog: &Catalog) {
        let offers = catalog.learned();
        slot.known.lock().clone_from(&offers);
        if !slot.server.hash.is_empty() {
            let (learned, hash) = (self.learned.clone(), slot.server.hash.clone());
            // Only the next session's listing depends on it.
            let _ = task::blocking(move || learned.write(&hash, &offers)).await;
        }
    }

    fn slot(&self, server: &str) -> Result<Arc<Slot>, McpError> {
        let slot = self.slots.read().iter().find(|slot| slot.server.name == server).cloned();
        let slot = slot.ok_or_else(|| McpError::Start(format!("no server {server} is configured")))?;
        if slot.is_off.load(Ordering::Relaxed) { Err(McpError::Off) } else { Ok(slot) }
    }

    /// Switches a server on or off. Its tools stay listed, because requests don't change within a session.
    pub fn switch(&self, server: &str, on: bool) {
        for slot in self.slots.read().iter().filter(|slot| slot.server.name == server) {
            slot.is_off.store(!on, Ordering::Relaxed);
            // A server that is just starting will end after the call that started it.
            if let Some(mut state) = slot.state.try_lock().ok().filter(|_| !on) {
                (state.connection, state.catalog) = (None, None);
            }
        }
    }

    async fn connection(&self, slot: &Slot) -> Result<Arc<McpConnection>, McpError> {
        let mut state = slot.state.lock().await;
        if let Some(open) = state.connection.as_ref().filter(|open| !open.is_closed()) {
            return Ok(Arc::clone(open));
        }
        if let Some((until, why)) = state.pause.as_ref().filter(|(until, _)| *until > Instant::now()) {
            let seconds = until.duration_since(Instant::now()).as_secs() + 1;
            // What it wrote was told when it failed.
            let why = why.split("; it wrote: ").next().unwrap_or_default();
            return Err(McpError::Start(format!("{why}; it is tried again in {seconds} s")));
        }
        self.open(slot, &mut state, None).await
    }

    async fn open(
        &self,
        slot: &Slot,
        state: &mut State,
        challenge: Option<&str>,
    ) -> Result<Arc<McpConnection>, McpError> {
        state.connection = None;
        match connect(&slot.server, &self.place, challenge).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                (state.failures, state.pause) = (0, None);
                state.connection = (!slot.is_off.load(Ordering::Relaxed)).then(|| Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                if state.failures > 0 {
                    let pause = FIRST_PAUSE.saturating_mul(1 << (state.failures - 1).min(6));
                    state.pause = Some((Instant::now() + pause.min(LONGEST_PAUSE), error.to_string()));
                }
                state.failures += 1;
                Err(error)
            }
        }
    }

    async fn forget(&self, slot: &Slot, broken: &Arc<McpConnection>) {
        let mut state = slot.state.lock().await;
        if state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, broken)) {
            (state.connection, state.catalog) = (None, None);
        }
    }
}

/// Such as `github.{create_issue, list_issues, +9}`.
fn listed(server: &str, tools: &[LearnedTool]) -> String {
    if tools.is_empty() {
        return format!("{server}.* (MCP)");
    }
    let mut listing = String::new();
    for (at, tool) in tools.iter().enumerate() {
        if listing.len() + tool.name.len() > LISTED_CHARS {
            listing.push_str(&format!(", +{}", tools.len() - at));
            break;
        }
        listing.push_str(if at == 0 { "" } else { ", " });
        listing.push_str(&tool.name);
    }
    format!("{server}.{{{listing}}}")
}
