//! Launches commands: our program is started again as the helper, under a name that no user types, with the
//! specification on a descriptor, and starts the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::spec::{LaunchMode, Masks};
use base::process::run::LaunchWrapper;
use base::system::os::Handle;

pub const HELPER_NAME: &str = "__confine";
/// Descriptors of the helper's specification and its end of the lifeline; high enough to be unused.
pub const SPEC_FD: i32 = 60;
pub const LIFELINE_FD: i32 = 61;
/// The helper's other tasks, given as its first argument.
pub const PROBE: &str = "--probe";
pub const KEEP_NETWORK: &str = "--keep-network";

static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// For tests, which run in another program. The first call wins.
pub fn use_helper(path: PathBuf) {
    let _ = HELPER.set(path);
}

pub fn helper() -> io::Result<PathBuf> {
    if let Some(path) = HELPER.get() {
        return Ok(path.clone());
    }
    let current = std::env::current_exe()?;
    // A test binary would run its tests instead. Any other name is fine: scripts may call us `claude`.
    if current.to_string_lossy().contains("/deps/") {
        return Err(io::Error::other(
            "mycode could not find its own program file to start the sandbox helper",
        ));
    }
    // This link works even if an update has replaced the file.
    Ok(if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { current })
}

pub fn arguments(side_fd: Option<i32>) -> [OsString; 2] {
    [HELPER_NAME.into(), side_fd.map_or_else(|| "-".into(), |fd| fd.to_string().into())]
}

pub fn wrapper(mode: &LaunchMode, side_fd: Option<i32>) -> io::Result<LaunchWrapper> {
    let (reader, lifeline) = io::pipe()?;
    Ok(LaunchWrapper {
        program: helper()?.into(),
        args: arguments(side_fd).to_vec(),
        descriptors: vec![(SPEC_FD, spec_file(mode)?), (LIFELINE_FD, reader.into())],
        lifeline: Some(lifeline.into()),
        environment: Vec::new(),
    })
}

/// For an unconfined command whose leftover processes end with it; `None` if there is no helper.
pub fn end_with_command() -> Option<LaunchWrapper> {
    unconfined(true, None)
}

/// For an unconfined command whose leftover processes end with the agent.
pub fn end_with_agent(side_fd: i32) -> Option<LaunchWrapper> {
    unconfined(false, Some(side_fd))
}

fn unconfined(alone: bool, side_fd: Option<i32>) -> Option<LaunchWrapper> {
    let mode = LaunchMode::Unconfined { alone, masks: Masks::default() };
    cfg!(target_os = "linux").then(|| wrapper(&mode, side_fd).ok()).flatten()
}

pub fn spec_file(mode: &LaunchMode) -> io::Result<Handle> {
    let mut file = unnamed_file()?;
    file.write_all(&serde_json::to_vec(mode)?)?;
    Ok(file.into())
}

#[cfg(target_os = "linux")]
pub fn unnamed_file() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("mycode", rustix::fs::MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
pub fn unnamed_file() -> io::Result<File> {
    let name = format!("mycode-spec-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Closed when the namespace is ready.
pub const READY_FD: i32 = 59;

#[derive(Debug)]
pub struct SharedNetwork {
    keeper: Child,
    lifeline: Option<io::PipeWriter>,
    ready: io::PipeReader,
}

impl SharedNetwork {
    pub fn start(user_namespace: bool) -> io::Result<Self> {
        let (stdin, lifeline) = io::pipe()?;
        let (ready, stdout) = io::pipe()?;
        let mut command = Command::new(helper()?);
        command.args([HELPER_NAME, KEEP_NETWORK, if user_namespace { "user" } else { "-" }]);
        let keeper = command.env_clear().stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn()?;
        Ok(Self { keeper, lifeline: Some(lifeline), ready })
    }

    /// Its process id, which isn't reused until this is dropped.
    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    pub fn ready(&self) -> io::Result<Handle> {
        Ok(self.ready.try_clone()?.into())
    }
}

impl Drop for SharedNetwork {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
