//! Services that outlive the run (`exec --keep`): started unconfined in their own session, with a log in the project's
//! state folder and none of our files open.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use base::file;
use base::folder::update::update;
use base::process::run::{clean_environment, exit_of};
use base::process::{programs, quiet, reap};
use base::protocol::event::ServiceRow;
use base::system::os::{self, Signal};

const MOST: usize = 8;
/// How long the call waits in case the command ends by itself.
const SETTLES: Duration = Duration::from_secs(2);
const STOPS: Duration = Duration::from_secs(3);
const STOP_LOOKS: u32 = 30;
const TAIL_BYTES: u64 = 16 * 1024;
/// Stops logging after 68 MiB, checked every 32 MiB, so a log has at most 100 MiB. `$0` is the log.
const LOGGER: &str = "command -v dd >/dev/null || exec cat; exec 3>&1; n=0; while [ $n -lt 71303168 ]; do \
    dd bs=65536 count=512 2>&1 >&3 | grep -q '^0+0 ' && exit; n=$(wc -c <\"$0\"); done; exec cat >/dev/null";
const LIST: &str = "services.json";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    row: ServiceRow,
    processes: Vec<reap::Process>,
    #[serde(default)]
    stopped: bool,
}

impl Kept {
    fn lives(&self) -> bool {
        self.processes.iter().any(reap::Process::lives)
    }
}

pub struct Services {
    folder: PathBuf,
    kept: Mutex<Vec<Kept>>,
}

pub enum Started {
    Runs(usize, ServiceRow),
    /// It ended by itself; the row is for what it left running.
    Ended {
        how: String,
        output: Vec<u8>,
        left: Option<(usize, ServiceRow)>,
    },
}

impl Services {
    /// Also lists services of earlier runs that are still alive.
    pub fn new(project_state: &Path) -> Self {
        let folder = project_state.join("services");
        let read = file::read_own(&folder.join(LIST)).ok();
        let mut kept: Vec<Kept> =
            read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        kept.retain(Kept::lives);
        Self { folder, kept: Mutex::new(kept) }
    }

    pub fn running(&self) -> Vec<ServiceRow> {
        self.numbered().into_iter().map(|(_, row)| row).collect()
    }

    /// Services started by this run that have ended.
    pub fn dead(&self) -> Vec<ServiceRow> {
        self.kept
            .lock()
            .iter()
            .filter(|kept| !kept.stopped && !kept.lives())
            .map(|kept| kept.row.clone())
            .collect()
    }

    pub async fn start(&self, command: &str, cwd: &Path) -> io::Result<Started> {
        if self.running().len() >= MOST {
            return Err(io::Error::other(format!("{MOST} services are running already; stop one first")));
        }
        std::fs::create_dir_all(&self.folder)?;
        let log = self.folder.join(format!("{:08x}.log", fastrand::u32(..)));
        let (writer, mut logger) = logger(&log)?;
        let mut started = tokio::process::Command::new(programs::shell());
        started.args(["-c", command]).current_dir(cwd);
        started.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        clean_environment(&mut started, cwd);
        started.envs(quiet::for_command(|name| std::env::var_os(name)));
        os::start_with(&mut started, Vec::new())?;
        let mut child = started.spawn()?;
        // It holds the pipe's write end.
        drop(started);
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        let ended = tokio::time::timeout(SETTLES, child.wait()).await;
        let family = reap::family(leader);
        let kept = (!family.is_empty()).then(|| self.keep(command, leader, family, &log));
        match (ended, kept) {
            (Ok(status), left) => {
                let how = exit_of(status?).to_string();
                // If something was left running, the logger continues.
                let _ = tokio::time::timeout(SETTLES / 4, logger.wait()).await;
                let output = file::tail(&log, TAIL_BYTES).unwrap_or_default();
                Ok(Started::Ended { how, output, left })
            }
            (Err(_), Some((number, row))) => Ok(Started::Runs(number, row)),
            (Err(_), None) => Err(io::Error::other("the process can't be found")),
        }
    }

    pub fn numbered(&self) -> Vec<(usize, ServiceRow)> {
        let kept = self.kept.lock();
        (1..)
            .zip(kept.iter())
            .filter(|(_, kept)| kept.lives())
            .map(|(n, kept)| (n, kept.row.clone()))
            .collect()
    }

    /// The service's state, and the end of its log.
    pub async fn look(&self, number: usize, stop: bool) -> Option<(String, Vec<u8>)> {
        let kept = self.kept.lock().get(number.checked_sub(1)?)?.clone();
        if stop && kept.lives() {
            let group = i32::try_from(kept.row.pgid).ok()?;
            reap::signal_all(group, Signal::TERM);
            for _ in 0..STOP_LOOKS {
                if kept.lives() {
                    tokio::time::sleep(STOPS / STOP_LOOKS).await;
                }
            }
            if kept.lives() {
                reap::signal_all(group, Signal::KILL);
            }
            self.kept.lock().iter_mut().filter(|one| one.row == kept.row).for_each(|one| one.stopped = true);
        }
        let state = match (kept.lives(), stop) {
            (true, false) => format!("is running (pid {})", kept.row.pid),
            (_, true) => "was stopped".to_owned(),
            (false, false) => "has ended".to_owned(),
        };
        let output = file::tail(Path::new(&kept.row.log), TAIL_BYTES).unwrap_or_default();
        Some((format!("service {number} {state}"), output))
    }

    fn keep(
        &self,
        command: &str,
        leader: i32,
        processes: Vec<reap::Process>,
        log: &Path,
    ) -> (usize, ServiceRow) {
        let pgid = leader.unsigned_abs();
        let pid = processes.first().map_or(pgid, reap::Process::number);
        let row = ServiceRow {
            pid: if processes.iter().any(|process| process.number() == pgid) { pgid } else { pid },
            pgid,
            command: command.to_owned(),
            log: log.to_string_lossy().into_owned(),
            stop: format!("kill -- -{pgid}"),
        };
        let mut kept = self.kept.lock();
        kept.push(Kept { row: row.clone(), processes, stopped: false });
        // Another run may have added services.
        let _ = update(&self.folder.join(LIST), |bytes| {
            let known = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
            let mut all: Vec<Kept> = known.unwrap_or_default();
            all.retain(Kept::lives);
            all.extend(kept.last().cloned());
            Ok(Some(serde_json::to_vec(&all)?))
        });
        (kept.len(), row)
    }
}

/// Writes the pipe's output to the log, up to its limit, and keeps reading as long as the service writes.
fn logger(log: &Path) -> io::Result<(io::PipeWriter, tokio::process::Child)> {
    let output = file::create_private(log)?;
    let (reader, writer) = io::pipe()?;
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", LOGGER]).arg(log);
    command.stdin(reader).stdout(output).stderr(Stdio::null());
    os::start_with(&mut command, Vec::new())?;
    Ok((writer, command.spawn()?))
}
