//! A session's language servers: which one a file uses, when it is (re)started, what it reports about an edit.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::findings;
use super::programs::{self, LspProgram};
use super::server::{Phase, RunningServer};
use base::config::language_servers::{self, LanguageServer, ServersSetting};
use base::config::trusted::agent_files::AgentFile;
use base::path;
use base::process::service::ServiceSpec;
use base::process::task;
use guard::sandbox::launch;
use guard::sandbox::session::{self, Sandbox};

/// How long an edit waits for findings: the first time, for a server that answers in time, and for a slow one.
const FIRST_WAIT: Duration = Duration::from_millis(1_000);
const WAIT: Duration = Duration::from_millis(1_500);
const SHORT_WAIT: Duration = Duration::from_millis(200);
/// How long the end of a turn waits: for servers that know the project, and for those still reading it.
const LAST_WAIT: Duration = Duration::from_secs(2);
const LAST_WAIT_AT_FIRST: Duration = Duration::from_secs(8);
const FIND: Duration = Duration::from_secs(90);
const FIND_BEFORE: Duration = Duration::from_secs(20);
const RUNNING: usize = 6;
/// The pause after a first crash; it doubles with each further crash, up to the limit.
const PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// After running this long, a crashed server counts as reliable again.
const RAN_WELL: Duration = Duration::from_secs(300);
const TEXT_BYTES: usize = 2 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoServer {
    #[error("no language server is known for this kind of file")]
    Unknown,
    #[error("no language server for it is installed (such as {0})")]
    Absent(String),
    #[error("its language server {0} cannot be used: {1}")]
    Failed(String, String),
}

#[derive(Default)]
pub struct ServersSetup {
    pub workspace: PathBuf,
    /// `None` if the user wants them unsandboxed.
    pub sandbox: Option<Arc<Sandbox>>,
    pub setting: Option<ServersSetting>,
    pub plugins: Vec<AgentFile>,
    pub projects: Vec<PathBuf>,
}

struct Edit {
    path: PathBuf,
    before: Option<String>,
    after: String,
    number: u64,
}

#[derive(Default)]
struct Slot {
    server: Option<Arc<RunningServer>>,
    program: usize,
    failures: u32,
    started: Option<Instant>,
    again: Option<Instant>,
    why: String,
}

#[derive(Default)]
struct State {
    edits: Vec<Edit>,
    latest: HashMap<PathBuf, u64>,
    last: u64,
    slots: HashMap<(String, PathBuf), Slot>,
    wait: Option<Duration>,
}

struct Inner {
    setup: ServersSetup,
    rows: OnceLock<language_servers::LanguageServers>,
    search: OsString,
    state: Mutex<State>,
    starting: tokio::sync::Mutex<()>,
    edited: watch::Sender<()>,
    /// Searches for findings about edits. What the last edit didn't wait for is reported late.
    searches: tokio::sync::Mutex<JoinSet<Option<String>>>,
}

#[derive(Clone)]
pub struct LanguageServers(Arc<Inner>);

impl LanguageServers {
    pub fn new(setup: ServersSetup) -> Self {
        Self(Arc::new(Inner {
            setup,
            rows: OnceLock::new(),
            search: std::env::var_os("PATH").unwrap_or_default(),
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            edited: watch::Sender::default(),
            searches: tokio::sync::Mutex::default(),
        }))
    }

    pub fn off() -> Self {
        Self::new(ServersSetup { setting: Some(ServersSetting::All(false)), ..ServersSetup::default() })
    }

    /// The table row for a file in the workspace (name and content), and the file's language.
    fn row(&self, file: &Path) -> Option<(&str, &LanguageServer, &str)> {
        let setup = &self.0.setup;
        let rows = || language_servers::rows(setup.setting.as_ref(), &setup.plugins);
        let rows = self.0.rows.get_or_init(rows);
        let inside = file.starts_with(&self.0.setup.workspace);
        let mut rows = rows.iter().filter(|_| inside);
        rows.find_map(|(name, row)| Some((name.as_str(), row, row.language(file)?)))
    }

    /// Records an edit if there is a row for the file. Cheap: only copies the text.
    pub fn edited(&self, file: &Path, before: Option<&str>, after: &str) {
        if after.len() > TEXT_BYTES || self.row(file).is_none() {
            return;
        }
        let mut state = self.0.state.lock();
        state.last += 1;
        let number = state.last;
        state.latest.insert(file.to_owned(), number);
        // Merge several edits of a file: the first has the original text, the last has the result.
        let earlier = state.edits.iter().position(|edit| edit.path == file);
        let before = match earlier.map(|at| state.edits.remove(at)) {
            Some(earlier) => earlier.before,
            None => before.map(str::to_owned),
        };
        state.edits.push(Edit { path: file.to_owned(), before, after: after.to_owned(), number });
        drop(state);
        self.0.edited.send_replace(());
    }

    /// New findings in the edited files, and late ones of earlier edits. Waits briefly, but not after an interrupt.
    pub async fn after_edits(&self, cancel: &CancellationToken) -> Option<String> {
        let (edits, mut wait) = {
            let mut state = self.0.state.lock();
            (std::mem::take(&mut state.edits), state.wait.unwrap_or(FIRST_WAIT))
        };
        if edits.is_empty() {
            wait = Duration::ZERO;
        }
        let mut searches = self.0.searches.lock().await;
        for edit in edits {
            let servers = self.clone();
            searches
                .spawn(Box::pin(async move { timeout(FIND, servers.look_at(edit)).await.ok().flatten() }));
        }
        let (found, all) = reports(&mut searches, wait, cancel).await;
        if !all && !wait.is_zero() && !cancel.is_cancelled() {
            self.0.state.lock().wait = Some(SHORT_WAIT);
        }
        found
    }

    /// Late findings. Waits briefly for pending ones.
    pub async fn late(&self, cancel: &CancellationToken) -> Option<String> {
        let reading =
            |slot: &Slot| slot.server.as_ref().is_some_and(|one| is_alive(one) && !one.knows_project());
        let limit =
            if self.0.state.lock().slots.values().any(reading) { LAST_WAIT_AT_FIRST } else { LAST_WAIT };
        reports(&mut *self.0.searches.lock().await, limit, cancel).await.0
    }

    async fn superseded(&self, file: &Path, number: u64) {
        let is_later = |_: &()| self.0.state.lock().latest.get(file) != Some(&number);
        let _ = self.0.edited.subscribe().wait_for(is_later).await;
    }

    /// Reports what is new after an edit; `None` also if the file is edited again in the meantime.
    async fn look_at(&self, edit: Edit) -> Option<String> {
        let (_, row, language) = self.row(&edit.path)?;
        let server = self.server(&edit.path).await.ok()?;
        let _turn = server.turn.lock().await;
        server.know_before(&edit.path, language, edit.before.as_deref(), FIND_BEFORE).await;
        let begun = Instant::now();
        let shown = server.show(&edit.path, language, &edit.after);
        server.saved(&edit.path, &edit.after);
        let settled = tokio::select! {
            settled = server.settled(&shown, FIND) => settled,
            () = self.superseded(&edit.path, edit.number) => return None,
        };
        self.0.state.lock().wait = Some(if settled && begun.elapsed() < WAIT { WAIT } else { SHORT_WAIT });
        if !settled {
            return None;
        }
        let name = |path: &Path| path::display(&self.0.setup.workspace, path);
        let own: Vec<String> = server
            .new_in(&edit.path, &edit.after)
            .into_iter()
            .map(|finding| {
                let line = edit.after.lines().nth(finding.line as usize).unwrap_or("");
                let column = characters(line, finding.column, server.counts_bytes()) + 1;
                findings::line(&name(&edit.path), &finding, column)
            })
            .collect();
        let elsewhere: Vec<String> = server
            .new_elsewhere(&edit.path)
            .into_iter()
            .map(|(path, finding)| findings::line(&name(&path), &finding, finding.column as usize + 1))
            .collect();
        let found = findings::report(&server.program, &own, &elsewhere);
        let told: Vec<String> = found.into_iter().chain(server.lacks(row)).collect();
        (!told.is_empty()).then(|| told.join("\n"))
    }

    /// A file's server, started if necessary and ready for queries.
    pub async fn server(&self, file: &Path) -> Result<Arc<RunningServer>, NoServer> {
        loop {
            // One at a time, because two edits could start two servers.
            let server = {
                let _alone = self.0.starting.lock().await;
                let (servers, file) = (self.clone(), file.to_owned());
                let found = task::blocking(move || servers.find_or_start(&file)).await;
                found.unwrap_or(Err(NoServer::Unknown))?
            };
            if server.ready().await {
                return Ok(server);
            }
        }
    }

    fn find_or_start(&self, file: &Path) -> Result<Arc<RunningServer>, NoServer> {
        let (name, row, _) = self.row(file).ok_or(NoServer::Unknown)?;
        let setup = &self.0.setup;
        let programs = programs::installed(row, &setup.projects, &self.0.search);
        if programs.is_empty() {
            return Err(NoServer::Absent(programs::names(row)));
        }
        let root = programs::root(row, &setup.workspace, file);
        let failed = |program: &LspProgram, why: &str| Err(NoServer::Failed(program.name(), why.to_owned()));
        let program = {
            let mut state = self.0.state.lock();
            let running = |slot: &&Slot| slot.server.as_ref().is_some_and(|server| is_alive(server));
            let full = state.slots.values().filter(running).count() >= RUNNING;
            let slot = state.slots.entry((name.to_owned(), root.clone())).or_default();
            match slot.server.take() {
                Some(server) if is_alive(&server) => {
                    slot.server = Some(Arc::clone(&server));
                    return Ok(server);
                }
                Some(server) => slot.ended(&server),
                None => {}
            }
            let Some(program) = programs.get(slot.program) else {
                return failed(&programs[0], &slot.why);
            };
            if slot.again.is_some_and(|again| Instant::now() < again) {
                return failed(program, &slot.why);
            }
            if full {
                return failed(program, "too many language servers are running");
            }
            program
        };
        // Don't hold the lock, which the engine's task takes too; `starting` prevents a second start.
        let started = self.start(row, program, root.clone());
        let mut state = self.0.state.lock();
        let slot = state.slots.entry((name.to_owned(), root)).or_default();
        match started {
            Ok(server) => {
                slot.server = Some(Arc::clone(&server));
                slot.started = Some(Instant::now());
                Ok(server)
            }
            Err(error) => {
                slot.pause(error.to_string());
                failed(program, &slot.why)
            }
        }
    }

    fn start(
        &self,
        row: &LanguageServer,
        program: &LspProgram,
        root: PathBuf,
    ) -> std::io::Result<Arc<RunningServer>> {
        let (wrapper, cache) = match &self.0.setup.sandbox {
            None => (launch::end_with_command(), None),
            Some(sandbox) => match sandbox.reading_spec()? {
                None => return Err(std::io::Error::other("it cannot be confined")),
                Some((spec, cache)) => (Some(session::launcher(spec, None)?), cache),
            },
        };
        let cache = cache.map(|folder| folder.to_string_lossy().into_owned());
        let environment = row.environment.iter().filter_map(|(name, value)| match &cache {
            Some(cache) => Some((name.clone(), value.replace("{cache}", cache))),
            None => (!value.contains("{cache}")).then(|| (name.clone(), value.clone())),
        });
        let service = ServiceSpec {
            wrapper,
            program: program.path.clone().into(),
            args: program.args.iter().map(OsString::from).collect(),
            cwd: root,
            environment: environment.collect(),
        };
        RunningServer::start(row, program.name(), service)
    }

    pub fn language(&self, file: &Path) -> Option<String> {
        self.row(file).map(|(_, _, language)| language.to_owned())
    }

    pub fn status(&self) -> String {
        let state = self.0.state.lock();
        let mut rows: Vec<String> = state
            .slots
            .iter()
            .filter_map(|((name, _), slot)| {
                let server = slot.server.as_ref()?;
                let phase = match server.phase() {
                    Phase::Starting => "starting".to_owned(),
                    Phase::Ready => "ready".to_owned(),
                    Phase::Ended(why) if why.is_empty() => return None,
                    Phase::Ended(why) => why,
                };
                Some(format!("{} ({name}) {phase}", server.program))
            })
            .collect();
        rows.sort();
        if rows.is_empty() { "none running".to_owned() } else { rows.join(", ") }
    }

    pub fn ready(&self) -> Vec<Arc<RunningServer>> {
        let state = self.0.state.lock();
        let servers = state.slots.values().filter_map(|slot| slot.server.clone());
        servers.filter(|server| server.phase() == Phase::Ready).collect()
    }

    pub async fn stop(&self) {
        let servers: Vec<_> = self
            .0
            .state
            .lock()
            .slots
            .drain()
            .filter_map(|(_, slot)| slot.server)
            .filter(|one| is_alive(one))
            .collect();
        futures_util::future::join_all(servers.iter().map(|server| server.stop())).await;
    }
}

impl Slot {
    /// If it never became ready, the next program is tried or it pauses. A server that we stopped just restarts.
    fn ended(&mut self, server: &RunningServer) {
        let Phase::Ended(why) = server.phase() else { return };
        if why.is_empty() {
            return;
        }
        if server.was_ready() {
            if self.started.is_some_and(|started| started.elapsed() > RAN_WELL) {
                self.failures = 0;
            }
            self.pause(why);
        } else {
            self.why = why;
            self.program += 1;
        }
    }

    fn pause(&mut self, why: String) {
        self.why = why;
        let pause = PAUSE.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.again = Some(Instant::now() + pause);
    }
}

/// What the searches found within `limit`, and whether all have ended. A search that panics has found nothing.
async fn reports(
    searches: &mut JoinSet<Option<String>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> (Option<String>, bool) {
    let mut found: Vec<String> = Vec::new();
    let gather = async {
        while let Some(ended) = searches.join_next().await {
            found.extend(ended.ok().flatten());
        }
    };
    let all = tokio::select! {
        biased;
        gathered = timeout(limit, gather) => gathered.is_ok(),
        () = cancel.cancelled() => false,
    };
    ((!found.is_empty()).then(|| found.join("\n")), all)
}

fn is_alive(server: &RunningServer) -> bool {
    !matches!(server.phase(), Phase::Ended(_))
}

/// The number of characters before a column in the server's units.
pub fn characters(line: &str, column: u32, bytes: bool) -> usize {
    let size = |c: char| if bytes { c.len_utf8() } else { c.len_utf16() };
    let ends = line.chars().scan(0, |end, c| Some(std::mem::replace(end, *end + size(c))));
    ends.take_while(|start| *start < column as usize).count()
}

/// The column, in the server's units, of byte `at`.
pub fn column(line: &str, at: usize, bytes: bool) -> u32 {
    let before = line.get(..at).unwrap_or(line);
    let units = if bytes { before.len() } else { before.encode_utf16().count() };
    u32::try_from(units).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_all_units() {
        let line = "aä𝒳b";
        assert_eq!((column(line, 7, true), column(line, 7, false)), (7, 4));
        assert_eq!((characters(line, 7, true), characters(line, 4, false)), (3, 3));
        assert_eq!(characters(line, 99, true), 4);
    }

    #[test]
    fn crashes_make_pauses_and_never_an_end() {
        let mut slot = Slot::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            slot.pause("crashed".to_owned());
            pauses.push(slot.again.unwrap().saturating_duration_since(Instant::now()).as_secs() + 1);
        }
        assert_eq!((pauses[0], pauses[1], pauses[8]), (10, 20, 600));
    }

    #[tokio::test]
    async fn a_search_that_panics_does_not_stay_pending() {
        let mut searches = JoinSet::new();
        searches.spawn(async { if true { panic!("a bug") } else { None } });
        searches.spawn(async { Some("found".to_owned()) });
        let (found, all) = reports(&mut searches, WAIT, &CancellationToken::new()).await;
        assert_eq!((found.as_deref(), all), (Some("found"), true));
    }

    #[tokio::test]
    async fn nothing_without_a_row() {
        let servers = LanguageServers::off();
        servers.edited(Path::new("/w/a.rs"), None, "fn main() {}");
        assert_eq!(servers.after_edits(&CancellationToken::new()).await, None);
        assert_eq!(servers.server(Path::new("/w/a.rs")).await.err(), Some(NoServer::Unknown));
        assert_eq!(servers.status(), "none running");
    }
}
